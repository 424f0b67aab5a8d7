#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/quantize_body.hpp"

namespace dedloc::kernels::cuda {

template <class Short, bool kIsAligned>
using Plain = EachElement<RoundRow<Short, Input::kAsItIs, true, false, kIsAligned>>;
template <class Short, bool kIsAligned>
using WithFeedback = EachElement<RoundRow<Short, Input::kScaledOwed, true, true, kIsAligned>>;

template int launch(const Plain<Half, true>&, CUstream_st*);
template int launch(const Plain<Half, false>&, CUstream_st*);
template int launch(const Plain<Bfloat16, true>&, CUstream_st*);
template int launch(const Plain<Bfloat16, false>&, CUstream_st*);
template int launch(const WithFeedback<Half, true>&, CUstream_st*);
template int launch(const WithFeedback<Half, false>&, CUstream_st*);
template int launch(const WithFeedback<Bfloat16, true>&, CUstream_st*);
template int launch(const WithFeedback<Bfloat16, false>&, CUstream_st*);
template int launch(const EncodeInt8Body<false, true, false, true>&, CUstream_st*);
template int launch(const EncodeInt8Body<false, true, false, false>&, CUstream_st*);
template int launch(const EncodeInt8Body<true, true, true, true>&, CUstream_st*);
template int launch(const EncodeInt8Body<true, true, true, false>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
