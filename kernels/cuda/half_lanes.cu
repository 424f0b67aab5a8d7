#include "kernels/cuda/half_lanes_body.hpp"
#include "kernels/cuda/launch.cuh"

namespace dedloc::kernels::cuda {

template int launch(const EachElement<RoundRow<false, false, true>>&, CUstream_st*);
template int launch(const EachElement<RoundRow<false, false, false>>&, CUstream_st*);
template int launch(const EachElement<RoundRow<true, false, true>>&, CUstream_st*);
template int launch(const EachElement<RoundRow<true, false, false>>&, CUstream_st*);
template int launch(const EachElement<RoundRow<true, true, true>>&, CUstream_st*);
template int launch(const EachElement<RoundRow<true, true, false>>&, CUstream_st*);
template int launch(const EachElement<ScaledRow<false, true>>&, CUstream_st*);
template int launch(const EachElement<ScaledRow<false, false>>&, CUstream_st*);
template int launch(const EachElement<ScaledRow<true, true>>&, CUstream_st*);
template int launch(const EachElement<ScaledRow<true, false>>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
