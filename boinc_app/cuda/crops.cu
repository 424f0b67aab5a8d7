#include "boinc_app/cuda/crop_body.hpp"
#include "kernels/cuda/launch.cuh"

namespace dedloc::kernels::cuda {

using training::CropWork;

template int launch(const CropWork<float>&, CUstream_st*);
template int launch(const CropWork<Bfloat16>&, CUstream_st*);
template int launch(const CropWork<Half>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
