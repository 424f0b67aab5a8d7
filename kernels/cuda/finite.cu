#include "kernels/cuda/finite_body.hpp"
#include "kernels/cuda/launch.cuh"

namespace dedloc::kernels::cuda {

template int launch(const EachElement<FiniteRow<true>>&, CUstream_st*);
template int launch(const EachElement<FiniteRow<false>>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
