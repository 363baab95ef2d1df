//! `libprp_mpi_early.so`, for `LD_PRELOAD`: what a program needs whose receives are released early
//! (docs/mpi.md). Only programs that are to use early release load it: it replaces functions of the
//! C library, which no other program should pay for.
//!
//! | functions | why |
//! | --- | --- |
//! | `read`, `write` and others with memory for the kernel | a system call on a closed page fails |
//! | `free`, `realloc`, `munmap`, `mremap` | memory that is given back may be used anew |
//! | `sigaction`, `signal` | another handler of SIGSEGV would see touches of closed pages |
//! | `pthread_sigmask`, `sigprocmask`, `ppoll` and others with a signal mask | a thread that has SIGSEGV blocked is killed when it touches a closed page |
//! | `pthread_create` | the stacks of threads are not closed |
//!
//! `libmpi_abi.so.1` finds it by the names of its interface (`sys/interface`), and tells it what
//! to call. Until then all functions only pass their calls on.

mod sys;
