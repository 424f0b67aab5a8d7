// Streams and events of the CUDA runtime. The default stream cannot be named: it waits for all
// others.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/check.hpp"

struct CUstream_st;
struct CUevent_st;

namespace dedloc::kernels::cuda {

/// A stream that somebody else owns and keeps alive.
class StreamView {
  public:
    /// Requires  not null      (aborts): null would be the default stream
    explicit StreamView(CUstream_st* stream) : stream_(stream) {
        DEDLOC_KERNEL_REQUIRE(stream != nullptr, "the default stream is not for kernels");
    }
    StreamView(std::nullptr_t) = delete;
    StreamView(int) = delete;

    CUstream_st* raw() const { return stream_; }

    /// Waits until all that was enqueued so far is done; Errors  CudaError of any of it.
    void wait() const;

  private:
    CUstream_st* stream_;
};

/// A stream of the current device; does not wait for the default stream. Destroying it lets what is
/// enqueued run to its end.
///
/// Errors    CudaError from the constructor, such as that there is no device
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

/// A point in a stream; measures time between two.
class Event {
  public:
    Event();

    /// After all that was enqueued so far.
    void record(StreamView stream) const;
    /// What is enqueued into `stream` from now on waits for the event.
    void hold(StreamView stream) const;
    /// The host waits.
    void wait() const;
    /// Requires  both were recorded and have happened
    float milliseconds_since(const Event& earlier) const;

  private:
    struct Destroy {
        void operator()(CUevent_st* event) const;
    };
    std::unique_ptr<CUevent_st, Destroy> event_;
};

/// How many devices this process can use; 0 without a driver.
int device_count();

}  // namespace dedloc::kernels::cuda
