#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sgd_body.hpp"

namespace dedloc::kernels::cuda {

template int launch(const TableSums<LarcRow>&, CUstream_st*);
template int launch(const TensorTotals<2, LarcRate>&, CUstream_st*);
template int launch(const TableElements<MomentumRow>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
