#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sgd_body.hpp"

namespace dedloc::kernels::cuda {

template int launch(const SegmentSums<LarcRow<true>>&, CUstream_st*);
template int launch(const SegmentSums<LarcRow<false>>&, CUstream_st*);
template int launch(const TotalSums<2, LarcRate>&, CUstream_st*);
template int launch(const EachElement<MomentumRow<true>>&, CUstream_st*);
template int launch(const EachElement<MomentumRow<false>>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
