// The header in C++: handles in std::unique_ptr, errors as std::system_error.
#include <prp.h>

#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

struct closer {
    void operator()(prp_stream *stream) const { prp_close(stream); }
    void operator()(prp_listener *listener) const { prp_listener_close(listener); }
};

using stream = std::unique_ptr<prp_stream, closer>;
using listener = std::unique_ptr<prp_listener, closer>;

static std::system_error last_error()
{
    return {prp_last_errno(), std::generic_category(), prp_last_error()};
}

int main()
try {
    listener listening(prp_listen("self:0", nullptr));
    prp_address address{};
    std::string text(PRP_ADDRESS_SIZE, '\0');
    if (!listening || prp_listener_address(listening.get(), &address) < 0)
        throw last_error();
    text.resize(static_cast<size_t>(prp_address_format(&address, &text[0], text.size())));
    stream client(prp_connect(text.c_str(), nullptr));
    stream server(prp_accept(listening.get(), nullptr));
    if (!client || !server || prp_send_all(client.get(), "hello", 5) < 0)
        throw last_error();
    char bytes[5];
    if (prp_recv_all(server.get(), bytes, sizeof bytes) != 5)
        throw last_error();
    listening.reset();
    try {
        if (!stream(prp_connect(text.c_str(), nullptr)))
            throw last_error();
    } catch (const std::system_error &error) {
        if (error.code() != std::errc::connection_refused)
            throw;
        std::puts("done");
    }
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
