#include "kernels/cuda/finite.hpp"

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/finite_body.hpp"

namespace dedloc::kernels::cuda {

void check_finite(DeviceSpan<const float> values, DeviceFlag is_finite, StreamView stream) {
    require_flag(is_finite);
    for_alignment(
        [&](auto is_aligned) {
            using Row = FiniteRow<decltype(is_aligned)::value>;
            enqueue(EachElement<Row>{{values.data(), is_finite.data()}, values.size()}, stream,
                    "looking for infinities");
        },
        values);
}

}  // namespace dedloc::kernels::cuda
