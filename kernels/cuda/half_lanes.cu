#include "kernels/cuda/dequantize_body.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/quantize_body.hpp"

namespace dedloc::kernels::cuda {

template <Input kInput, bool kWrites, bool kKeeps, bool kIsAligned>
using Round = EachElement<RoundRow<Half, kInput, kWrites, kKeeps, kIsAligned>>;
template <Widened kUse, bool kIsAligned>
using Widen = EachElement<WidenRow<Half, kUse, kIsAligned>>;

template int launch(const Round<Input::kScaled, true, false, true>&, CUstream_st*);
template int launch(const Round<Input::kScaled, true, false, false>&, CUstream_st*);
template int launch(const Round<Input::kScaledOwed, true, false, true>&, CUstream_st*);
template int launch(const Round<Input::kScaledOwed, true, false, false>&, CUstream_st*);
template int launch(const Round<Input::kScaledOwed, false, true, true>&, CUstream_st*);
template int launch(const Round<Input::kScaledOwed, false, true, false>&, CUstream_st*);
template int launch(const Widen<Widened::kScaled, true>&, CUstream_st*);
template int launch(const Widen<Widened::kScaled, false>&, CUstream_st*);
template int launch(const Widen<Widened::kScaledAndAdded, true>&, CUstream_st*);
template int launch(const Widen<Widened::kScaledAndAdded, false>&, CUstream_st*);

}  // namespace dedloc::kernels::cuda
