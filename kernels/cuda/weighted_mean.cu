#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/weighted_mean_body.hpp"

namespace dedloc::kernels::cuda {

template int launch(const MeanBody<true>&, CUstream_st*);
template int launch(const MeanBody<false>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
