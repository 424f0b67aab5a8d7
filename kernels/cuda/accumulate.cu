#include "kernels/cuda/accumulate_body.hpp"
#include "kernels/cuda/launch.cuh"

namespace dedloc::kernels::cuda {

template int launch(const SegmentSums<AccumulateRow<float, true>>&, CUstream_st*);
template int launch(const SegmentSums<AccumulateRow<float, false>>&, CUstream_st*);
template int launch(const SegmentSums<AccumulateRow<Half, true>>&, CUstream_st*);
template int launch(const SegmentSums<AccumulateRow<Half, false>>&, CUstream_st*);
template int launch(const SegmentSums<AccumulateRow<Bfloat16, true>>&, CUstream_st*);
template int launch(const SegmentSums<AccumulateRow<Bfloat16, false>>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
