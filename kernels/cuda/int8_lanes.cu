#include "kernels/cuda/dequantize_body.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/quantize_body.hpp"

namespace dedloc::kernels::cuda {

template int launch(const EncodeInt8Body<true, true, false, true>&, CUstream_st*);
template int launch(const EncodeInt8Body<true, true, false, false>&, CUstream_st*);
template int launch(const EncodeInt8Body<true, false, true, true>&, CUstream_st*);
template int launch(const EncodeInt8Body<true, false, true, false>&, CUstream_st*);
template int launch(const EachElement<WidenInt8Row<true, true>>&, CUstream_st*);
template int launch(const EachElement<WidenInt8Row<true, false>>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
