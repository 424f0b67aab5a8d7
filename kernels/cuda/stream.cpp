#include "kernels/cuda/stream.hpp"

#include <cuda_runtime.h>

#include "kernels/cuda/error.hpp"

namespace dedloc::kernels::cuda {

void StreamView::wait() const {
    check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize", "waiting for a stream");
}

Stream::Stream() {
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags", "making a stream");
    stream_.reset(stream);
}

// Destructors ignore errors: while a process exits, the runtime may be unloaded already.
void Stream::Destroy::operator()(CUstream_st* stream) const {
    static_cast<void>(cudaStreamDestroy(stream));
}

Event::Event() {
    cudaEvent_t event = nullptr;
    // A thread that waits for it sleeps; by default it would keep a core busy.
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventBlockingSync), "cudaEventCreateWithFlags",
               "making an event");
    event_.reset(event);
}

void Event::Destroy::operator()(CUevent_st* event) const {
    static_cast<void>(cudaEventDestroy(event));
}

void Event::record(StreamView stream) const {
    check_cuda(cudaEventRecord(event_.get(), stream.raw()), "cudaEventRecord",
               "recording an event");
}

void Event::wait() const {
    check_cuda(cudaEventSynchronize(event_.get()), "cudaEventSynchronize", "waiting for an event");
}

}  // namespace dedloc::kernels::cuda
