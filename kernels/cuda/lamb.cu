#include "kernels/cuda/lamb_body.hpp"
#include "kernels/cuda/launch.cuh"

namespace dedloc::kernels::cuda {

template int launch(const SegmentSums<MomentsRow<false, true>>&, CUstream_st*);
template int launch(const SegmentSums<MomentsRow<false, false>>&, CUstream_st*);
template int launch(const SegmentSums<MomentsRow<true, true>>&, CUstream_st*);
template int launch(const SegmentSums<MomentsRow<true, false>>&, CUstream_st*);
template int launch(const TotalSums<2, LambRatio>&, CUstream_st*);
template int launch(const EachElement<StepRow<false, true>>&, CUstream_st*);
template int launch(const EachElement<StepRow<false, false>>&, CUstream_st*);
template int launch(const EachElement<StepRow<true, true>>&, CUstream_st*);
template int launch(const EachElement<StepRow<true, false>>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
