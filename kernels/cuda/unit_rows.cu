#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/unit_rows_body.hpp"

namespace dedloc::kernels::cuda {

template int launch(const TableSums<UnitSquares>&, CUstream_st*);
template int launch(const TensorTotals<1, UnitDivisor>&, CUstream_st*);
template int launch(const TableElements<UnitElements>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
