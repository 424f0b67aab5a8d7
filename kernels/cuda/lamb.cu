#include "kernels/cuda/lamb_body.hpp"
#include "kernels/cuda/launch.cuh"

namespace dedloc::kernels::cuda {

template int launch(const TableSums<MomentsRow<false>>&, CUstream_st*);
template int launch(const TableSums<MomentsRow<true>>&, CUstream_st*);
template int launch(const TensorTotals<2, LambRatio>&, CUstream_st*);
template int launch(const TableElements<StepRow<false>>&, CUstream_st*);
template int launch(const TableElements<StepRow<true>>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
