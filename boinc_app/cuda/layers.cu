#include "boinc_app/cuda/column_body.hpp"
#include "boinc_app/cuda/norm_body.hpp"
#include "kernels/cuda/launch.cuh"

namespace dedloc::kernels::cuda {

using training::ColumnWalk;
using training::ColumnWork;
using training::NormGradientRows;
using training::NormRows;

template int launch(const NormRows<Bfloat16, 1>&, CUstream_st*);
template int launch(const NormRows<Bfloat16, 2>&, CUstream_st*);
template int launch(const NormRows<Bfloat16, 3>&, CUstream_st*);
template int launch(const NormRows<Bfloat16, 4>&, CUstream_st*);
template int launch(const NormRows<Half, 1>&, CUstream_st*);
template int launch(const NormRows<Half, 2>&, CUstream_st*);
template int launch(const NormRows<Half, 3>&, CUstream_st*);
template int launch(const NormRows<Half, 4>&, CUstream_st*);
template int launch(const NormGradientRows<Bfloat16, 1>&, CUstream_st*);
template int launch(const NormGradientRows<Bfloat16, 2>&, CUstream_st*);
template int launch(const NormGradientRows<Bfloat16, 3>&, CUstream_st*);
template int launch(const NormGradientRows<Bfloat16, 4>&, CUstream_st*);
template int launch(const NormGradientRows<Half, 1>&, CUstream_st*);
template int launch(const NormGradientRows<Half, 2>&, CUstream_st*);
template int launch(const NormGradientRows<Half, 3>&, CUstream_st*);
template int launch(const NormGradientRows<Half, 4>&, CUstream_st*);
template int launch(const ColumnWalk<Bfloat16, ColumnWork::kGelu>&, CUstream_st*);
template int launch(const ColumnWalk<Bfloat16, ColumnWork::kGeluGradient>&, CUstream_st*);
template int launch(const ColumnWalk<Bfloat16, ColumnWork::kSum>&, CUstream_st*);
template int launch(const ColumnWalk<Half, ColumnWork::kGelu>&, CUstream_st*);
template int launch(const ColumnWalk<Half, ColumnWork::kGeluGradient>&, CUstream_st*);
template int launch(const ColumnWalk<Half, ColumnWork::kSum>&, CUstream_st*);
template int launch(const training::RowSums&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
