// The public methods of std's and tokio's streams, listeners and halves, each called once with what
// it takes and gives. Included twice by parity.rs, with the names standing for TCP's types and for
// ours: the same text has to fit both. The modules are named as in `TYPES` there, the functions as
// the methods.

pub mod stream {
    use super::*;

    pub fn connect(addr: Addr) -> io::Result<Stream> {
        Stream::connect(addr)
    }
    pub fn connect_timeout(addr: &Addr, timeout: Duration) -> io::Result<Stream> {
        Stream::connect_timeout(addr, timeout)
    }
    pub fn peer_addr(s: &Stream) -> io::Result<Addr> {
        Stream::peer_addr(s)
    }
    pub fn local_addr(s: &Stream) -> io::Result<Addr> {
        Stream::local_addr(s)
    }
    pub fn shutdown(s: &Stream, how: Shutdown) -> io::Result<()> {
        Stream::shutdown(s, how)
    }
    pub fn try_clone(s: &Stream) -> io::Result<Stream> {
        Stream::try_clone(s)
    }
    pub fn set_read_timeout(s: &Stream, timeout: Option<Duration>) -> io::Result<()> {
        Stream::set_read_timeout(s, timeout)
    }
    pub fn set_write_timeout(s: &Stream, timeout: Option<Duration>) -> io::Result<()> {
        Stream::set_write_timeout(s, timeout)
    }
    pub fn read_timeout(s: &Stream) -> io::Result<Option<Duration>> {
        Stream::read_timeout(s)
    }
    pub fn write_timeout(s: &Stream) -> io::Result<Option<Duration>> {
        Stream::write_timeout(s)
    }
    pub fn peek(s: &Stream, buf: &mut [u8]) -> io::Result<usize> {
        Stream::peek(s, buf)
    }
    pub fn set_nodelay(s: &Stream, nodelay: bool) -> io::Result<()> {
        Stream::set_nodelay(s, nodelay)
    }
    pub fn nodelay(s: &Stream) -> io::Result<bool> {
        Stream::nodelay(s)
    }
    pub fn set_ttl(s: &Stream, ttl: u32) -> io::Result<()> {
        Stream::set_ttl(s, ttl)
    }
    pub fn ttl(s: &Stream) -> io::Result<u32> {
        Stream::ttl(s)
    }
    pub fn take_error(s: &Stream) -> io::Result<Option<io::Error>> {
        Stream::take_error(s)
    }
    pub fn set_nonblocking(s: &Stream, nonblocking: bool) -> io::Result<()> {
        Stream::set_nonblocking(s, nonblocking)
    }
}

pub mod listener {
    use super::*;

    pub fn bind(addr: Addr) -> io::Result<Listener> {
        Listener::bind(addr)
    }
    pub fn local_addr(l: &Listener) -> io::Result<Addr> {
        Listener::local_addr(l)
    }
    pub fn try_clone(l: &Listener) -> io::Result<Listener> {
        Listener::try_clone(l)
    }
    pub fn accept(l: &Listener) -> io::Result<(Stream, Addr)> {
        Listener::accept(l)
    }
    pub fn incoming(l: &Listener) -> impl Iterator<Item = io::Result<Stream>> + '_ {
        Listener::incoming(l)
    }
    pub fn set_ttl(l: &Listener, ttl: u32) -> io::Result<()> {
        Listener::set_ttl(l, ttl)
    }
    pub fn ttl(l: &Listener) -> io::Result<u32> {
        Listener::ttl(l)
    }
    pub fn take_error(l: &Listener) -> io::Result<Option<io::Error>> {
        Listener::take_error(l)
    }
    pub fn set_nonblocking(l: &Listener, nonblocking: bool) -> io::Result<()> {
        Listener::set_nonblocking(l, nonblocking)
    }
}

pub mod async_stream {
    use super::*;

    pub fn connect(addr: Addr) -> impl Future<Output = io::Result<AsyncStream>> {
        AsyncStream::connect(addr)
    }
    pub fn from_std(s: Stream) -> io::Result<AsyncStream> {
        AsyncStream::from_std(s)
    }
    pub fn into_std(s: AsyncStream) -> io::Result<Stream> {
        AsyncStream::into_std(s)
    }
    pub fn local_addr(s: &AsyncStream) -> io::Result<Addr> {
        AsyncStream::local_addr(s)
    }
    pub fn take_error(s: &AsyncStream) -> io::Result<Option<io::Error>> {
        AsyncStream::take_error(s)
    }
    pub fn peer_addr(s: &AsyncStream) -> io::Result<Addr> {
        AsyncStream::peer_addr(s)
    }
    pub fn poll_peek(
        s: &AsyncStream,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        AsyncStream::poll_peek(s, cx, buf)
    }
    pub fn ready(s: &AsyncStream, interest: Interest) -> impl Task<Ready> + '_ {
        AsyncStream::ready(s, interest)
    }
    pub fn readable(s: &AsyncStream) -> impl Task<()> + '_ {
        AsyncStream::readable(s)
    }
    pub fn poll_read_ready(s: &AsyncStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncStream::poll_read_ready(s, cx)
    }
    pub fn try_read(s: &AsyncStream, buf: &mut [u8]) -> io::Result<usize> {
        AsyncStream::try_read(s, buf)
    }
    pub fn try_read_vectored(s: &AsyncStream, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        AsyncStream::try_read_vectored(s, bufs)
    }
    pub fn try_read_buf<B: BufMut>(s: &AsyncStream, buf: &mut B) -> io::Result<usize> {
        AsyncStream::try_read_buf(s, buf)
    }
    pub fn writable(s: &AsyncStream) -> impl Task<()> + '_ {
        AsyncStream::writable(s)
    }
    pub fn poll_write_ready(s: &AsyncStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncStream::poll_write_ready(s, cx)
    }
    pub fn try_write(s: &AsyncStream, buf: &[u8]) -> io::Result<usize> {
        AsyncStream::try_write(s, buf)
    }
    pub fn try_write_vectored(s: &AsyncStream, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        AsyncStream::try_write_vectored(s, bufs)
    }
    pub fn try_io<R>(
        s: &AsyncStream,
        interest: Interest,
        f: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        AsyncStream::try_io(s, interest, f)
    }
    pub fn async_io<'a, R: 'a>(
        s: &'a AsyncStream,
        interest: Interest,
        f: impl FnMut() -> io::Result<R> + 'a,
    ) -> impl Future<Output = io::Result<R>> + 'a {
        AsyncStream::async_io(s, interest, f)
    }
    pub fn peek<'a>(s: &'a AsyncStream, buf: &'a mut [u8]) -> impl Task<usize> + 'a {
        AsyncStream::peek(s, buf)
    }
    pub fn nodelay(s: &AsyncStream) -> io::Result<bool> {
        AsyncStream::nodelay(s)
    }
    pub fn set_nodelay(s: &AsyncStream, nodelay: bool) -> io::Result<()> {
        AsyncStream::set_nodelay(s, nodelay)
    }
    pub fn linger(s: &AsyncStream) -> io::Result<Option<Duration>> {
        AsyncStream::linger(s)
    }
    #[allow(deprecated, reason = "tokio's blocks the thread, too")]
    pub fn set_linger(s: &AsyncStream, linger: Option<Duration>) -> io::Result<()> {
        AsyncStream::set_linger(s, linger)
    }
    pub fn set_zero_linger(s: &AsyncStream) -> io::Result<()> {
        AsyncStream::set_zero_linger(s)
    }
    pub fn ttl(s: &AsyncStream) -> io::Result<u32> {
        AsyncStream::ttl(s)
    }
    pub fn set_ttl(s: &AsyncStream, ttl: u32) -> io::Result<()> {
        AsyncStream::set_ttl(s, ttl)
    }
    pub fn split(s: &mut AsyncStream) -> (ReadHalf<'_>, WriteHalf<'_>) {
        AsyncStream::split(s)
    }
    pub fn into_split(s: AsyncStream) -> (OwnedReadHalf, OwnedWriteHalf) {
        AsyncStream::into_split(s)
    }
}

pub mod async_listener {
    use super::*;

    pub fn bind(addr: Addr) -> impl Future<Output = io::Result<AsyncListener>> {
        AsyncListener::bind(addr)
    }
    pub fn accept(l: &AsyncListener) -> impl Task<(AsyncStream, Addr)> + '_ {
        AsyncListener::accept(l)
    }
    pub fn poll_accept(
        l: &AsyncListener,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(AsyncStream, Addr)>> {
        AsyncListener::poll_accept(l, cx)
    }
    pub fn from_std(l: Listener) -> io::Result<AsyncListener> {
        AsyncListener::from_std(l)
    }
    pub fn into_std(l: AsyncListener) -> io::Result<Listener> {
        AsyncListener::into_std(l)
    }
    pub fn local_addr(l: &AsyncListener) -> io::Result<Addr> {
        AsyncListener::local_addr(l)
    }
    pub fn ttl(l: &AsyncListener) -> io::Result<u32> {
        AsyncListener::ttl(l)
    }
    pub fn set_ttl(l: &AsyncListener, ttl: u32) -> io::Result<()> {
        AsyncListener::set_ttl(l, ttl)
    }
}

/// What borrowed and owned halves that read have.
macro_rules! read_half {
    ($module:ident, $half:ty) => {
        pub mod $module {
            use super::*;

            pub fn poll_peek(
                h: &mut $half,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<usize>> {
                <$half>::poll_peek(h, cx, buf)
            }
            pub fn peek<'a>(h: &'a mut $half, buf: &'a mut [u8]) -> impl Task<usize> + 'a {
                <$half>::peek(h, buf)
            }
            pub fn ready<'a>(h: &'a $half, interest: Interest) -> impl Task<Ready> + 'a {
                <$half>::ready(h, interest)
            }
            pub fn readable<'a>(h: &'a $half) -> impl Task<()> + 'a {
                <$half>::readable(h)
            }
            pub fn try_read(h: &$half, buf: &mut [u8]) -> io::Result<usize> {
                <$half>::try_read(h, buf)
            }
            pub fn try_read_vectored(h: &$half, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                <$half>::try_read_vectored(h, bufs)
            }
            pub fn try_read_buf<B: BufMut>(h: &$half, buf: &mut B) -> io::Result<usize> {
                <$half>::try_read_buf(h, buf)
            }
            pub fn peer_addr(h: &$half) -> io::Result<Addr> {
                <$half>::peer_addr(h)
            }
            pub fn local_addr(h: &$half) -> io::Result<Addr> {
                <$half>::local_addr(h)
            }
        }
    };
}

/// What borrowed and owned halves that write have.
macro_rules! write_half {
    ($module:ident, $half:ty) => {
        pub mod $module {
            use super::*;

            pub fn ready<'a>(h: &'a $half, interest: Interest) -> impl Task<Ready> + 'a {
                <$half>::ready(h, interest)
            }
            pub fn writable<'a>(h: &'a $half) -> impl Task<()> + 'a {
                <$half>::writable(h)
            }
            pub fn try_write(h: &$half, buf: &[u8]) -> io::Result<usize> {
                <$half>::try_write(h, buf)
            }
            pub fn try_write_vectored(h: &$half, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                <$half>::try_write_vectored(h, bufs)
            }
            pub fn peer_addr(h: &$half) -> io::Result<Addr> {
                <$half>::peer_addr(h)
            }
            pub fn local_addr(h: &$half) -> io::Result<Addr> {
                <$half>::local_addr(h)
            }
        }
    };
}

read_half!(read_half, ReadHalf<'_>);
read_half!(owned_read_half, OwnedReadHalf);
write_half!(write_half, WriteHalf<'_>);
write_half!(owned_write_half, OwnedWriteHalf);

/// What only owned halves have.
pub mod owned_halves {
    use super::*;

    pub fn reunite(
        read: OwnedReadHalf,
        write: OwnedWriteHalf,
    ) -> Result<AsyncStream, ReuniteError> {
        OwnedReadHalf::reunite(read, write)
    }
    pub fn reunite_from_write(
        read: OwnedReadHalf,
        write: OwnedWriteHalf,
    ) -> Result<AsyncStream, ReuniteError> {
        OwnedWriteHalf::reunite(write, read)
    }
    pub fn forget(write: OwnedWriteHalf) {
        OwnedWriteHalf::forget(write);
    }
    pub fn fields(error: ReuniteError) -> (OwnedReadHalf, OwnedWriteHalf) {
        (error.0, error.1)
    }
}

/// The traits.
pub mod traits {
    use super::*;

    fn of_all<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Debug>() {}
    fn descriptor<T: AsFd + AsRawFd>() {}
    fn sync<T: Read + Write>() {}
    fn asynchronous<T: AsyncRead>() {}
    fn writes<T: AsyncWrite>() {}
    fn from<T: TryFrom<U, Error = io::Error>, U>() {}
    fn refers<T: AsRef<AsyncStream>>() {}
    fn error<T: std::error::Error>() {}
    fn address<T: FromStr + Display + Debug + Copy + Ord + Hash>() {}

    pub fn hold() {
        of_all::<Stream>();
        of_all::<Listener>();
        of_all::<AsyncStream>();
        of_all::<AsyncListener>();
        of_all::<ReadHalf<'_>>();
        of_all::<WriteHalf<'_>>();
        of_all::<OwnedReadHalf>();
        of_all::<OwnedWriteHalf>();
        descriptor::<Stream>();
        descriptor::<Listener>();
        descriptor::<AsyncStream>();
        descriptor::<AsyncListener>();
        sync::<Stream>();
        sync::<&Stream>();
        asynchronous::<AsyncStream>();
        asynchronous::<ReadHalf<'_>>();
        asynchronous::<OwnedReadHalf>();
        writes::<AsyncStream>();
        writes::<WriteHalf<'_>>();
        writes::<OwnedWriteHalf>();
        from::<AsyncStream, Stream>();
        from::<AsyncListener, Listener>();
        refers::<AsyncStream>();
        refers::<ReadHalf<'_>>();
        refers::<WriteHalf<'_>>();
        refers::<OwnedReadHalf>();
        refers::<OwnedWriteHalf>();
        error::<ReuniteError>();
        address::<Addr>();
    }
}
