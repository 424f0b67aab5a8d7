// Owners for the objects of nng's byte streams. Nothing outside nng_*.cpp and nng_link.hpp includes
// this.
#pragma once

#include <nng/nng.h>

#include <memory>
#include <new>

namespace dedloc::net {

struct StreamDeleter {
    void operator()(nng_stream* stream) const { nng_stream_free(stream); }
};
using NngStream = std::unique_ptr<nng_stream, StreamDeleter>;

struct DialerDeleter {
    void operator()(nng_stream_dialer* dialer) const { nng_stream_dialer_free(dialer); }
};
using NngDialer = std::unique_ptr<nng_stream_dialer, DialerDeleter>;

struct ListenerDeleter {
    void operator()(nng_stream_listener* listener) const { nng_stream_listener_free(listener); }
};
using NngListener = std::unique_ptr<nng_stream_listener, ListenerDeleter>;

/// One asynchronous operation at a time. The callback runs on a thread of nng; the destructor
/// cancels, waits for a running callback to return, and so must never run inside it.
class NngAio {
  public:
    NngAio(void (*callback)(void*), void* argument) {
        if (nng_aio_alloc(&aio_, callback, argument) != 0) throw std::bad_alloc();
    }
    ~NngAio() {
        nng_aio_stop(aio_);
        nng_aio_free(aio_);
    }
    NngAio(const NngAio&) = delete;
    NngAio& operator=(const NngAio&) = delete;

    nng_aio* get() const { return aio_; }
    int result() const { return nng_aio_result(aio_); }
    std::size_t count() const { return nng_aio_count(aio_); }
    void cancel() const { nng_aio_cancel(aio_); }
    /// Cancels and waits; operations started later end at once without a callback.
    void stop() const { nng_aio_stop(aio_); }

  private:
    nng_aio* aio_ = nullptr;
};

}  // namespace dedloc::net
