#include "kernels/cuda/global_norm_body.hpp"
#include "kernels/cuda/launch.cuh"

namespace dedloc::kernels::cuda {

template int launch(const SegmentSums<SquaresRow<true>>&, CUstream_st*);
template int launch(const SegmentSums<SquaresRow<false>>&, CUstream_st*);
template int launch(const TotalSums<1, StoreRoot>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
