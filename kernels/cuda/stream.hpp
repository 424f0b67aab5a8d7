// Streams and events of the CUDA runtime. The default stream cannot be used, because it waits for
// all others.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/check.hpp"

struct CUstream_st;
struct CUevent_st;

namespace dedloc::kernels::cuda {

/// A reference to a stream, which must outlive it.
class StreamView {
  public:
    /// Requires  not null      (aborts): null would be the default stream
    explicit StreamView(CUstream_st* stream) : stream_(stream) {
        DEDLOC_KERNEL_REQUIRE(stream != nullptr, "the default stream is not for kernels");
    }
    StreamView(std::nullptr_t) = delete;
    StreamView(int) = delete;

    CUstream_st* raw() const { return stream_; }

    /// Blocks until all operations enqueued so far are done. Errors  CudaError of any of them.
    void wait() const;

  private:
    CUstream_st* stream_;
};

/// A stream of the current device; does not wait for the default stream. After the destructor the
/// enqueued operations still run to their end.
///
/// Errors    CudaError from the constructor, for instance if there is no device
class Stream {
  public:
    Stream();
    StreamView view() const { return StreamView{stream_.get()}; }
    operator StreamView() const { return view(); }

  private:
    struct Destroy {
        void operator()(CUstream_st* stream) const;
    };
    std::unique_ptr<CUstream_st, Destroy> stream_;
};

/// A point in a stream.
class Event {
  public:
    Event();

    /// Places the event after all operations enqueued so far.
    void record(StreamView stream) const;
    /// Blocks the host until the event has happened.
    void wait() const;

  private:
    struct Destroy {
        void operator()(CUevent_st* event) const;
    };
    std::unique_ptr<CUevent_st, Destroy> event_;
};

}  // namespace dedloc::kernels::cuda
