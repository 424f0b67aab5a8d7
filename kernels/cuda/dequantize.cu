#include "kernels/cuda/dequantize_body.hpp"
#include "kernels/cuda/launch.cuh"

namespace dedloc::kernels::cuda {

template <class Short, bool kIsAligned>
using Plain = EachElement<WidenRow<Short, Widened::kAsItIs, kIsAligned>>;

template int launch(const Plain<Half, true>&, CUstream_st*);
template int launch(const Plain<Half, false>&, CUstream_st*);
template int launch(const Plain<Bfloat16, true>&, CUstream_st*);
template int launch(const Plain<Bfloat16, false>&, CUstream_st*);
template int launch(const EachElement<WidenInt8Row<false, true>>&, CUstream_st*);
template int launch(const EachElement<WidenInt8Row<false, false>>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
