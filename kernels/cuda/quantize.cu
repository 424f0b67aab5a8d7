#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/quantize_body.hpp"

namespace dedloc::kernels::cuda {

template int launch(const EachElement<ShortenRow<Half, false, true>>&, CUstream_st*);
template int launch(const EachElement<ShortenRow<Half, false, false>>&, CUstream_st*);
template int launch(const EachElement<ShortenRow<Half, true, true>>&, CUstream_st*);
template int launch(const EachElement<ShortenRow<Half, true, false>>&, CUstream_st*);
template int launch(const EachElement<ShortenRow<Bfloat16, false, true>>&, CUstream_st*);
template int launch(const EachElement<ShortenRow<Bfloat16, false, false>>&, CUstream_st*);
template int launch(const EachElement<ShortenRow<Bfloat16, true, true>>&, CUstream_st*);
template int launch(const EachElement<ShortenRow<Bfloat16, true, false>>&, CUstream_st*);
template int launch(const EncodeInt8Body<false, true>&, CUstream_st*);
template int launch(const EncodeInt8Body<false, false>&, CUstream_st*);
template int launch(const EncodeInt8Body<true, true>&, CUstream_st*);
template int launch(const EncodeInt8Body<true, false>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
