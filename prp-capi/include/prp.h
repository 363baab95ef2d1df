/*
 * PRP for programs in C, and in languages that call C: byte streams and messages between the nodes
 * of a cluster.
 *
 * This header is the list of what libprp.so.0 has. The manual pages, the versions of its symbols
 * and the checks of its Rust side are made from it. docs/c.md is the introduction.
 *
 * A function that fails returns -1, or NULL where it returns a handle, sets errno, and keeps a text
 * for prp_last_error(). Times are in nanoseconds. A handle (prp_stream, prp_listener, prp_options)
 * looks like a pointer, and points to nothing: it is a number that the library checks at each call.
 * NULL, a handle that was closed, and a handle of the process that this one was forked from are
 * refused with EBADF. A pointer that is NULL where something is needed is refused with EFAULT. A
 * fault of the library itself is EIO. Any thread may use any handle at any time. No function may be
 * called in a signal handler.
 */
#ifndef PRP_H
#define PRP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PRP_VERSION "0.1.0"  /**< version of the library that this header belongs to */
#define PRP_ABI_VERSION 0    /**< number in libprp.so.0: the same number, the same interface */

/** A connection to another process. */
typedef struct prp_stream prp_stream;
/** A port at which connections are accepted. */
typedef struct prp_listener prp_listener;
/** Settings for connections to be made. */
typedef struct prp_options prp_options;

/** An address: a node and a port. */
typedef struct prp_address {
    uint16_t node; /**< number of the node, 1 to 65534 */
    uint16_t port; /**< port, 0 to 65535 */
} prp_address;

/** Bytes that the text of any address needs, with its end. */
#define PRP_ADDRESS_SIZE 12

/*
 * The socket family of the PRP paper (its section 2.3): socket(AF_PRPF, SOCK_STREAM, 0), and from
 * there on the calls and descriptors of the system. libprp_socket.so.0 has it: link with
 * -lprp_socket. docs/c.md tells more.
 */
#define AF_PRPF 0x5250   /**< family of addresses */
#define PF_PRPF AF_PRPF  /**< family of protocols: the same */

/** An address of AF_PRPF, in numbers of this machine's byte order. */
struct sockaddr_prp {
    short int sprp_family;        /**< AF_PRPF */
    unsigned short int sprp_port; /**< port, 1 to 65535; bind() takes any that is free for 0 */
    unsigned short int sprp_addr; /**< number of the node, 1 to 65534; 0 for this node */
};

/** Options: of prp_options_set(), prp_stream_set() and so on. */
enum {
    PRP_OPT_NONBLOCKING = 1,        /**< 1: no call waits, EAGAIN in its place; 0: calls wait (default) */
    PRP_OPT_READ_TIMEOUT = 2,       /**< longest wait of a call that receives, not 0; -1: for ever (default) */
    PRP_OPT_WRITE_TIMEOUT = 3,      /**< longest wait of a call that sends, not 0; -1: for ever (default) */
    PRP_OPT_TTL = 4,                /**< routers that a frame may cross, 1 to 255; more than 15 count as 15 */
    PRP_OPT_LINGER = 5,             /**< wait of prp_close() for delivery; 0: reset; -1: deliver in the background (default) */
    PRP_OPT_USER_TIMEOUT = 6,       /**< longest wait for an acknowledgement, not 0, 60 s by default; -1: for ever */
    PRP_OPT_KEEPALIVE_IDLE = 7,     /**< silence before the first probe, not 0, 30 s by default; -1: no probes */
    PRP_OPT_KEEPALIVE_INTERVAL = 8, /**< time between probes, not 0, 10 s by default */
    PRP_OPT_KEEPALIVE_PROBES = 9,   /**< unanswered probes that end the connection, 1 to 255, 6 by default */
    PRP_OPT_CONNECT_TIMEOUT = 10,   /**< longest wait for an answer when connecting, not 0, 15 s by default */
    PRP_OPT_SEND_BUFFER = 11,       /**< bytes sent and not yet acknowledged that are kept */
    PRP_OPT_SEND_BUFFER_MAX = 12,   /**< bytes that the send buffer grows to, 4 MiB by default */
    PRP_OPT_RECV_BUFFER = 13,       /**< bytes received and not yet taken that are kept */
    PRP_OPT_SPIN = 14,              /**< how long a waiting thread polls before it sleeps; -1: adaptive (default) */
    PRP_OPT_BACKLOG = 15,           /**< connections that wait to be accepted, 4096 by default */
    PRP_OPT_MAX_MESSAGE = 16,       /**< largest message for prp_recv_message_new(), 16 MiB by default */
    PRP_OPT_MAX_SEGMENT = 17,       /**< largest payload of a frame in bytes; of a stream: as agreed */
    PRP_OPT_CRC = 18,               /**< 1: CRC-32 from end to end (default); 0: none; of a stream: as agreed */
    PRP_OPT_RELIABILITY = 19,       /**< PRP_DETECT, PRP_GO_BACK_N, PRP_SELECTIVE_REPEAT, added; of a stream: as agreed */
    PRP_OPT_CLASSIC = 20,           /**< peers with the header of 1997: 0 refused (default), 1 allowed, 2 that header only */
    PRP_OPT_NODE = 21,              /**< number of this node, where hardware addresses do not say it */
    PRP_OPT_LOCAL_PORT = 22,        /**< port to connect from; 0: any (default) */
    PRP_OPT_HOSTS = 23,             /**< text: path of the prphosts to use */
    PRP_OPT_DEVICE = 24,            /**< text: device to use in place of those in prphosts */
    PRP_OPT_CONGESTION = 25         /**< text: congestion controller, "delay" (default) or "aimd" */
};

/** Policies for lost segments: of PRP_OPT_RELIABILITY. */
enum {
    PRP_DETECT = 1,          /**< a lost segment is an error at the receiver */
    PRP_GO_BACK_N = 2,       /**< a lost segment is sent again, with all after it */
    PRP_SELECTIVE_REPEAT = 4 /**< a lost segment is sent again, alone */
};

/** Directions of a stream: of prp_shutdown(). The values are those of shutdown(2). */
enum {
    PRP_SHUT_RD = 0,  /**< nothing more is received */
    PRP_SHUT_WR = 1,  /**< nothing more is sent */
    PRP_SHUT_RDWR = 2 /**< both */
};

/** Results of prp_recv_message(). */
enum {
    PRP_MESSAGE_PART = 0, /**< more of the message may come, by the next call: bytes, or its end alone */
    PRP_MESSAGE_END = 1,  /**< the message ends with these bytes, or with those before if there are none */
    PRP_MESSAGE_NONE = 2  /**< the stream has ended: within a message if PRP_MESSAGE_PART came before */
};

/** Events of prp_wait_any(). */
enum {
    PRP_READ = 1, /**< bytes, the end or an error to receive; of a listener a connection */
    PRP_WRITE = 2 /**< room to send, an error, or the answer to a nonblocking connect */
};

/** An entry of prp_wait_any(): a stream, or if that is NULL a listener. */
typedef struct prp_wait {
    prp_stream *stream;     /**< the stream, or NULL */
    prp_listener *listener; /**< the listener, if there is no stream */
    int events;             /**< PRP_READ, PRP_WRITE, or both added */
    int ready;              /**< is set to those of events that are there */
} prp_wait;

/** Counters of a stream. Later versions add fields at the end. */
typedef struct prp_stats {
    uint64_t segments_sent;        /**< data segments sent for the first time */
    uint64_t bytes_sent;           /**< payload bytes of those */
    uint64_t retransmitted;        /**< segments sent again */
    uint64_t spurious;             /**< of those, segments that the peer turned out not to need */
    uint64_t timeouts;             /**< retransmission timeouts */
    uint64_t segments_received;    /**< data segments accepted */
    uint64_t bytes_received;       /**< payload bytes received in order */
    uint64_t acks_sent;            /**< acknowledgement frames sent */
    uint64_t acks_received;        /**< acknowledgement frames received */
    uint64_t blocked_by_peer_window; /**< times a segment waited for room at the peer */
    uint64_t blocked_by_congestion; /**< times a segment waited for the congestion window */
    uint64_t blocked_by_pace;      /**< times a segment waited for the pace */
    uint64_t blocked_by_share;     /**< times a segment waited for other connections to the node */
    uint64_t blocked_by_short_end; /**< times the end of a write waited for the next write */
    uint64_t segment_reductions;   /**< times segments became smaller, since larger ones were lost */
    uint64_t dropped;              /**< received frames that were dropped, for any reason */
    uint64_t security;             /**< by the cluster key: 0 not protected, 1 signed, 2 sealed */
    uint64_t key_id;               /**< id of the key's secret; 0 if it is not protected */
} prp_stats;

/**
 * Returns the version of the library, as "0.1.0".
 *
 * PRP_VERSION is the version of the header that the program was compiled with.
 *
 * @example version.c
 */
const char *prp_version(void);

/**
 * Returns the version of the binary interface: the number in libprp.so.0.
 *
 * A program that loads the library by dlopen(3) compares it with PRP_ABI_VERSION.
 *
 * @example version.c
 */
int prp_abi_version(void);

/**
 * Returns the text of the last error of the calling thread.
 *
 * It says more than strerror(3) of errno: which address did not answer, which line of prphosts is
 * wrong. It is never NULL, empty if no call has failed yet, and holds until the next call of the
 * thread that fails. A call that succeeds leaves it as it is.
 *
 * @example errors.c
 */
const char *prp_last_error(void);

/**
 * Returns the errno of the last error of the calling thread, or 0.
 *
 * For languages that cannot read errno, and for programs that have called other functions since.
 *
 * @example errors.c
 */
int prp_last_errno(void);

/**
 * Frees memory that the library has allocated for the program.
 *
 * @param memory what prp_recv_message_new() or prp_openmetrics() has returned; nothing happens to
 * NULL
 * @example messages.c
 */
void prp_free(void *memory);

/**
 * Finds the address that a text stands for.
 *
 * The text is a node and a port: "3:80", "gamma:80" with a name of prphosts, "self:80" for this
 * node.
 *
 * @param text the address as text
 * @param options PRP_OPT_HOSTS and PRP_OPT_NODE of these count; NULL for the defaults
 * @param address is set to the address
 * @return 0, or -1
 * @error EINVAL the text is not of this form
 * @error ENOENT prphosts has no such node, or there is no prphosts
 * @error EBADMSG prphosts has a mistake
 * @error EBADF the settings were freed
 * @example address.c
 */
int prp_resolve(const char *text, const prp_options *options, prp_address *address);

/**
 * Writes an address as text, as "3:80".
 *
 * @param address the address
 * @param text room for PRP_ADDRESS_SIZE bytes
 * @param size the room; what does not fit is cut
 * @return the length of the whole text without its end, or -1
 * @error EINVAL the number is no node's
 * @example address.c
 */
int prp_address_format(const prp_address *address, char *text, size_t size);

/**
 * Makes settings, all with their defaults.
 *
 * One object of settings serves any number of connections and listeners, which take a copy.
 *
 * @return settings, to be freed by prp_options_free(); NULL on failure
 * @error EMFILE there are as many of them as the library has handles for
 * @example options.c
 */
prp_options *prp_options_new(void);

/**
 * Sets an option that is a number.
 *
 * @param options the settings
 * @param option the option
 * @param value its value; times are in nanoseconds
 * @return 0, or -1
 * @error EINVAL there is no such option, it is a text, or it does not have such values
 * @error EBADF the settings were freed
 * @constants PRP_OPT_ PRP_DETECT PRP_GO_BACK_N PRP_SELECTIVE_REPEAT
 * @example options.c
 */
int prp_options_set(prp_options *options, int option, int64_t value);

/**
 * Sets an option that is a text.
 *
 * @param options the settings
 * @param option PRP_OPT_HOSTS, PRP_OPT_DEVICE or PRP_OPT_CONGESTION
 * @param value its value
 * @return 0, or -1
 * @error EINVAL there is no such option, it is a number, or it does not have such values
 * @error EBADF the settings were freed
 * @constants PRP_OPT_HOSTS PRP_OPT_DEVICE PRP_OPT_CONGESTION
 * @example options.c
 */
int prp_options_set_text(prp_options *options, int option, const char *value);

/**
 * Frees settings. What was made with them keeps its own.
 *
 * @param options the settings; nothing happens to NULL
 * @return 0, or -1
 * @error EBADF the settings were freed before
 * @example options.c
 */
int prp_options_free(prp_options *options);

/**
 * Connects to an address.
 *
 * It waits for the answer, unless PRP_OPT_NONBLOCKING is set: then it returns at once, prp_fd()
 * becomes writable and prp_wait_any() reports PRP_WRITE when the answer has come, and
 * prp_take_error() returns 0 if the connection is there.
 *
 * @param address as in prp_resolve()
 * @param options settings; NULL for the defaults
 * @return a stream, to be closed by prp_close(); NULL on failure
 * @error ECONNREFUSED no process listens at the port
 * @error ETIMEDOUT there was no answer within PRP_OPT_CONNECT_TIMEOUT
 * @error EHOSTUNREACH prphosts has no route to the node, or a router has none
 * @error ENETUNREACH the device that leads there is down
 * @error ENOENT there is no such node, or no prphosts
 * @error EINVAL the text is no address, or the port is 0
 * @error EBADMSG prphosts has a mistake
 * @error EACCES the program needs CAP_NET_RAW, which it lacks
 * @error EADDRINUSE PRP_OPT_LOCAL_PORT is taken, or no port is free
 * @error EPROTONOSUPPORT the ends have no policy for lost segments in common
 * @error EMFILE the process has no descriptors left, or the library no handles
 * @error ENOMEM no thread can be made
 * @error EINTR a signal handler without SA_RESTART ran; no connection was made
 * @error EBADF the settings were freed
 * @constants PRP_OPT_
 * @example echo.c
 */
prp_stream *prp_connect(const char *address, const prp_options *options);

/**
 * Returns the error that a stream ended with, once: the answer to a nonblocking connect.
 *
 * @param stream the stream
 * @return 0 if there is no error, a number of errno, or -1. prp_last_error() has its text
 * @error EBADF the stream was closed
 * @example nonblocking.c
 */
int prp_take_error(prp_stream *stream);

/**
 * Sends bytes.
 *
 * It waits while the send buffer is full, and then returns how many bytes it took, which may be
 * fewer than size: prp_send_all() sends all. What was taken is delivered even if the process exits
 * by exit(3) right after. The library sends no SIGPIPE.
 *
 * @param stream the stream
 * @param data the bytes
 * @param size how many
 * @return how many bytes were taken, or -1
 * @error EAGAIN the stream is nonblocking, or PRP_OPT_WRITE_TIMEOUT is over, and nothing was taken;
 * there may be no room, or no connection yet
 * @error EPIPE the direction is closed, or the peer receives no more
 * @error ECONNRESET the peer has reset the connection
 * @error ECONNABORTED under PRP_DETECT: a segment of this end was lost
 * @error EBADMSG under PRP_DETECT: a segment of the peer was lost
 * @error ETIMEDOUT the peer has not acknowledged for PRP_OPT_USER_TIMEOUT, or does not answer
 * probes
 * @error ECONNREFUSED and others: a nonblocking connect has failed, as prp_connect()
 * @error ENOMEM there is no memory
 * @error EINTR a signal handler without SA_RESTART ran before anything was taken
 * @error EBADF the stream was closed
 * @example nonblocking.c
 */
ssize_t prp_send(prp_stream *stream, const void *data, size_t size);

/**
 * Sends bytes from several buffers, as writev(2).
 *
 * @param stream the stream
 * @param parts the buffers
 * @param count how many buffers, 1024 at most
 * @return how many bytes were taken, or -1
 * @error EINVAL count is negative or more than 1024
 * @error EBADF and others: as prp_send()
 * @example vectors.c
 */
ssize_t prp_sendv(prp_stream *stream, const struct iovec *parts, int count);

/**
 * Sends all of the bytes, and goes on after signals.
 *
 * A nonblocking stream fails with EAGAIN if not all of them fit at once; part of them may have been
 * sent then. Use prp_send() with nonblocking streams.
 *
 * @param stream the stream
 * @param data the bytes
 * @param size how many
 * @return 0, or -1
 * @error EBADF and others: as prp_send()
 * @example echo.c
 */
int prp_send_all(prp_stream *stream, const void *data, size_t size);

/**
 * Receives bytes.
 *
 * It waits until there are some, and returns those that are there.
 *
 * @param stream the stream
 * @param buffer room for them
 * @param size the room
 * @return how many bytes were received; 0 at the end of the stream, and if size is 0; -1 on failure
 * @error EAGAIN the stream is nonblocking, or PRP_OPT_READ_TIMEOUT is over; there are no bytes, or
 * no connection yet
 * @error ECONNRESET the peer has reset the connection
 * @error ECONNABORTED under PRP_DETECT: a segment of this end was lost
 * @error EBADMSG under PRP_DETECT: a segment of the peer was lost
 * @error ETIMEDOUT the peer has not acknowledged for PRP_OPT_USER_TIMEOUT, or does not answer
 * probes
 * @error ECONNREFUSED and others: a nonblocking connect has failed, as prp_connect()
 * @error EINTR a signal handler without SA_RESTART ran
 * @error EBADF the stream was closed
 * @example echo.c
 */
ssize_t prp_recv(prp_stream *stream, void *buffer, size_t size);

/**
 * Receives bytes into several buffers, as readv(2).
 *
 * @param stream the stream
 * @param parts the buffers
 * @param count how many buffers, 1024 at most
 * @return as prp_recv()
 * @error EINVAL count is negative or more than 1024
 * @error EBADF and others: as prp_recv()
 * @example vectors.c
 */
ssize_t prp_recvv(prp_stream *stream, const struct iovec *parts, int count);

/**
 * Receives bytes until the buffer is full or the stream ends, and goes on after signals.
 *
 * What has come when a call fails is kept, and comes first with the next call that receives,
 * without the ends of messages in it. prp_fd() and prp_wait_any() do not show it: use prp_recv()
 * with nonblocking streams.
 *
 * @param stream the stream
 * @param buffer room for them
 * @param size the room
 * @return how many bytes were received, fewer than size only at the end of the stream; -1 on
 * failure
 * @error ENOMEM there is no memory to keep what has come: it is lost
 * @error EBADF and others: as prp_recv()
 * @example vectors.c
 */
ssize_t prp_recv_all(prp_stream *stream, void *buffer, size_t size);

/**
 * Copies received bytes without taking them.
 *
 * @param stream the stream
 * @param buffer room for them
 * @param size the room
 * @return as prp_recv()
 * @error EBADF and others: as prp_recv()
 * @example vectors.c
 */
ssize_t prp_peek(prp_stream *stream, void *buffer, size_t size);

/**
 * Sends bytes as one message: the peer receives these bytes and no others as a message.
 *
 * Messages and bytes may be mixed on a stream. prp_recv() receives across the ends of messages.
 * Bytes of prp_send() may end a message as well, where a frame ends with them: a peer that receives
 * messages is sent messages only.
 *
 * @param stream the stream
 * @param message the bytes
 * @param size how many; a message may have none
 * @return how many bytes were taken: size, or fewer if a nonblocking stream or
 * PRP_OPT_WRITE_TIMEOUT has cut the call short. Call it again with the rest then, which continues
 * the message. -1 on failure
 * @error EBADF and others: as prp_send()
 * @example messages.c
 */
ssize_t prp_send_message(prp_stream *stream, const void *message, size_t size);

/**
 * Receives a message, or as much of it as the buffer has room for.
 *
 * What has come of a message when the connection fails is kept, and comes first with the next call
 * for bytes or messages.
 *
 * @param stream the stream
 * @param buffer room for it
 * @param size the room
 * @param state is set to PRP_MESSAGE_END if the message ends with these bytes, to PRP_MESSAGE_PART
 * if more of it may come, by the next call, and to PRP_MESSAGE_NONE if the stream has ended
 * @return how many bytes were received, or -1. After PRP_MESSAGE_PART the next call may have no
 * bytes and PRP_MESSAGE_END; if it has PRP_MESSAGE_NONE, the stream ended within the message
 * @error EINVAL size is 0
 * @error EBADF and others: as prp_recv()
 * @constants PRP_MESSAGE_
 * @example messages.c
 */
ssize_t prp_recv_message(prp_stream *stream, void *buffer, size_t size, int *state);

/**
 * Receives a message of any size up to PRP_OPT_MAX_MESSAGE, in memory that it allocates.
 *
 * What has come of a message when a call fails is kept, and comes first with the next call for
 * bytes or messages, except after EMSGSIZE and ENODATA. prp_fd() and prp_wait_any() do not show it:
 * they show what comes after it.
 *
 * @param stream the stream
 * @param message is set to the message, to be freed by prp_free(); to NULL at the end of the stream
 * and on failure
 * @param size is set to its size
 * @return 1 if there is a message, 0 at the end of the stream, -1 on failure
 * @error EMSGSIZE the message is larger than PRP_OPT_MAX_MESSAGE; that much of it is lost, and the
 * next call goes on within it
 * @error ENOMEM there is no memory for it
 * @error ENODATA the stream ended within the message
 * @error EBADF and others: as prp_recv()
 * @example messages.c
 */
int prp_recv_message_new(prp_stream *stream, void **message, size_t *size);

/**
 * Waits until the peer has acknowledged everything that was sent, and the end of it too if this
 * direction was closed.
 *
 * It waits on a nonblocking stream too.
 *
 * @param stream the stream
 * @return 0, or -1
 * @error EAGAIN PRP_OPT_WRITE_TIMEOUT is over
 * @error EINTR a signal handler without SA_RESTART ran
 * @error EBADF and others: as prp_send()
 * @example echo.c
 */
int prp_wait_delivered(prp_stream *stream);

/**
 * Ends one direction of a stream or both. What was sent before is delivered, and calls that wait
 * return.
 *
 * @param stream the stream
 * @param how PRP_SHUT_RD, PRP_SHUT_WR or PRP_SHUT_RDWR
 * @return 0, or -1
 * @error EINVAL how is none of these
 * @error ENOTCONN the connection is not there yet, or is over
 * @error EBADF the stream was closed
 * @constants PRP_SHUT_
 * @example echo.c
 */
int prp_shutdown(prp_stream *stream, int how);

/**
 * Closes a stream. What was sent is delivered in the background, also if the process exits by
 * exit(3).
 *
 * With PRP_OPT_LINGER the call waits for that long until it is delivered. It returns 0 also when
 * the time is over: prp_wait_delivered() before it says whether the peer has everything.
 *
 * A stream with bytes that were received and not taken resets the connection, as TCP does. A call
 * of another thread that waits on the stream goes on until it ends by itself, and the connection
 * closes after it; prp_shutdown() ends such waits.
 *
 * @param stream the stream; nothing happens to NULL
 * @return 0, or -1
 * @error EBADF the stream was closed before
 * @example echo.c
 */
int prp_close(prp_stream *stream);

/**
 * Reports the address of this end of a stream.
 *
 * @param stream the stream
 * @param address is set to the address
 * @return 0, or -1
 * @error EBADF the stream was closed
 * @example address.c
 */
int prp_local_address(const prp_stream *stream, prp_address *address);

/**
 * Reports the address of the peer.
 *
 * @param stream the stream
 * @param address is set to the address
 * @return 0, or -1
 * @error ENOTCONN the connection is not there yet
 * @error EBADF the stream was closed
 * @example address.c
 */
int prp_peer_address(const prp_stream *stream, prp_address *address);

/**
 * Sets an option of a stream.
 *
 * @param stream the stream
 * @param option PRP_OPT_NONBLOCKING, PRP_OPT_READ_TIMEOUT, PRP_OPT_WRITE_TIMEOUT, PRP_OPT_TTL,
 * PRP_OPT_LINGER, PRP_OPT_USER_TIMEOUT or one of PRP_OPT_KEEPALIVE_*. The three for keepalive are
 * one setting: what was not set on the stream is as prp_options_set() had it
 * @param value its value
 * @return 0, or -1
 * @error EINVAL a stream has no such option, or it does not have such values
 * @error EBADF the stream was closed
 * @constants PRP_OPT_NONBLOCKING PRP_OPT_READ_TIMEOUT PRP_OPT_WRITE_TIMEOUT PRP_OPT_TTL
 * PRP_OPT_LINGER PRP_OPT_USER_TIMEOUT PRP_OPT_KEEPALIVE_
 * @example options.c
 */
int prp_stream_set(prp_stream *stream, int option, int64_t value);

/**
 * Reports an option of a stream.
 *
 * @param stream the stream
 * @param option one of those of prp_stream_set(), or PRP_OPT_MAX_SEGMENT, PRP_OPT_CRC or
 * PRP_OPT_RELIABILITY, as both ends agreed on
 * @param value is set to its value
 * @return 0, or -1
 * @error EINVAL a stream has no such option
 * @error ENOTCONN what the ends agree on is not settled yet
 * @error EBADF the stream was closed
 * @constants PRP_OPT_NONBLOCKING PRP_OPT_READ_TIMEOUT PRP_OPT_WRITE_TIMEOUT PRP_OPT_TTL
 * PRP_OPT_LINGER PRP_OPT_USER_TIMEOUT PRP_OPT_KEEPALIVE_ PRP_OPT_MAX_SEGMENT PRP_OPT_CRC
 * PRP_OPT_RELIABILITY PRP_DETECT PRP_GO_BACK_N PRP_SELECTIVE_REPEAT
 * @example options.c
 */
int prp_stream_get(const prp_stream *stream, int option, int64_t *value);

/**
 * Returns a descriptor to wait on by poll(2), epoll(7) and the like.
 *
 * It is readable, writable, hung up or in error as the stream is. The data do not pass through it:
 * do not read from it, write to it or close it. It belongs to the stream, and is made by the first
 * call, which takes two descriptors.
 *
 * @param stream the stream
 * @return a descriptor, or -1
 * @error EMFILE the process has no descriptors left
 * @error EBADF the stream was closed
 * @example epoll.c
 */
int prp_fd(prp_stream *stream);

/**
 * Reports the counters of a stream.
 *
 * Programs pass the size of the struct that they were compiled with: the library fills as much, and
 * sets to 0 what it does not know.
 *
 * @param stream the stream
 * @param stats is filled
 * @param size sizeof (prp_stats)
 * @return how many bytes the library knows, or -1
 * @error ENOTCONN the connection is gone
 * @error EBADF the stream was closed
 * @example stats.c
 */
ssize_t prp_stream_stats(const prp_stream *stream, prp_stats *stats, size_t size);

/**
 * Listens at an address of this node.
 *
 * @param address "self:80"; "self:0" for any free port. The node must be this one
 * @param options settings, which the streams that it accepts begin with; NULL for the defaults.
 * With PRP_OPT_NONBLOCKING prp_accept() does not wait
 * @return a listener, to be closed by prp_listener_close(); NULL on failure
 * @error EADDRINUSE another process has the port, or another listener of this one
 * @error EADDRNOTAVAIL the node is another one
 * @error ENOENT and others: as prp_connect()
 * @constants PRP_OPT_
 * @example echo.c
 */
prp_listener *prp_listen(const char *address, const prp_options *options);

/**
 * Accepts a connection.
 *
 * @param listener the listener
 * @param peer is set to the address of the peer; may be NULL
 * @return a stream, to be closed by prp_close(); NULL on failure
 * @error EAGAIN the listener is nonblocking, or its PRP_OPT_READ_TIMEOUT is over
 * @error EMFILE the library has no handles left
 * @error EINTR a signal handler without SA_RESTART ran
 * @error EBADF the listener was closed
 * @example echo.c
 */
prp_stream *prp_accept(prp_listener *listener, prp_address *peer);

/**
 * Reports the address of a listener, with the port that "self:0" stood for.
 *
 * @param listener the listener
 * @param address is set to the address
 * @return 0, or -1
 * @error EBADF the listener was closed
 * @example address.c
 */
int prp_listener_address(const prp_listener *listener, prp_address *address);

/**
 * Sets an option of a listener, which holds for prp_accept() and for the streams that it accepts
 * afterwards.
 *
 * @param listener the listener
 * @param option PRP_OPT_NONBLOCKING, PRP_OPT_READ_TIMEOUT, PRP_OPT_WRITE_TIMEOUT, PRP_OPT_LINGER or
 * PRP_OPT_TTL
 * @param value its value
 * @return 0, or -1
 * @error EINVAL a listener has no such option, or it does not have such values
 * @error EBADF the listener was closed
 * @constants PRP_OPT_NONBLOCKING PRP_OPT_READ_TIMEOUT PRP_OPT_WRITE_TIMEOUT PRP_OPT_LINGER
 * PRP_OPT_TTL
 * @example epoll.c
 */
int prp_listener_set(prp_listener *listener, int option, int64_t value);

/**
 * Reports an option of a listener.
 *
 * @param listener the listener
 * @param option one of those of prp_listener_set()
 * @param value is set to its value
 * @return 0, or -1
 * @error EINVAL a listener has no such option
 * @error EBADF the listener was closed
 * @example options.c
 */
int prp_listener_get(const prp_listener *listener, int option, int64_t *value);

/**
 * Returns a descriptor that is readable when a connection can be accepted.
 *
 * @param listener the listener
 * @return a descriptor, as of prp_fd(); -1 on failure
 * @error EMFILE the process has no descriptors left
 * @error EBADF the listener was closed
 * @example epoll.c
 */
int prp_listener_fd(prp_listener *listener);

/**
 * Closes a listener. Connections that were not accepted are reset; those that were go on.
 *
 * @param listener the listener; nothing happens to NULL
 * @return 0, or -1
 * @error EBADF the listener was closed before
 * @example echo.c
 */
int prp_listener_close(prp_listener *listener);

/**
 * Waits for any of several streams and listeners, and for one descriptor beside them.
 *
 * The calling thread receives and sends the frames of the streams itself meanwhile. With poll(2) a
 * message passes through another thread. It is for programs with few threads that talk to many
 * peers; with thousands of streams use epoll(7), which examines only those that are ready.
 *
 * @param waits the streams and listeners; ready of each is set
 * @param count how many, 1 at least
 * @param fd a descriptor that ends the wait when it is readable; -1 for none
 * @param timeout longest wait in nanoseconds; -1: for ever
 * @return how many of waits are ready, 0 if the time is over or fd is readable; -1 on failure
 * @error EINVAL there are no streams, an entry waits for nothing, a listener for PRP_WRITE, timeout
 * is less than -1, or the streams belong to several nodes of this process
 * @error EMFILE the process has no descriptors left, with an fd
 * @error EINTR a signal handler without SA_RESTART ran
 * @error EBADF a handle was closed, or fd is less than -1
 * @constants PRP_READ PRP_WRITE
 * @example wait_any.c
 */
int prp_wait_any(prp_wait *waits, size_t count, int fd, int64_t timeout);

/**
 * Returns the counters of the process in the text format of OpenMetrics 1.0.
 *
 * @return text, to be freed by prp_free(); NULL on failure
 * @error ENOMEM there is no memory
 * @example stats.c
 */
char *prp_openmetrics(void);

#ifdef __cplusplus
}
#endif
#endif
