#include "kernels/cuda/dequantize_body.hpp"
#include "kernels/cuda/launch.cuh"

namespace dedloc::kernels::cuda {

template int launch(const EachElement<WidenRow<Half, true>>&, CUstream_st*);
template int launch(const EachElement<WidenRow<Half, false>>&, CUstream_st*);
template int launch(const EachElement<WidenRow<Bfloat16, true>>&, CUstream_st*);
template int launch(const EachElement<WidenRow<Bfloat16, false>>&, CUstream_st*);
template int launch(const EachElement<WidenInt8Row<true>>&, CUstream_st*);
template int launch(const EachElement<WidenInt8Row<false>>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
