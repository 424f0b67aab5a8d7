// Rows that a device scales to length 1 have the host's bits, and it does not touch the elements
// between them.
#include <catch2/catch.hpp>
#include <limits>

#include "kernels/cuda/unit_rows.hpp"
#include "kernels/unit_rows.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/same.hpp"
#include "tests/kernels/cuda/tensors.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/many_tensors.hpp"
#include "tests/kernels/one_tensor.hpp"

using namespace dedloc;
using namespace dedloc::tests;

namespace {

/// The number of elements that the device leaves with other bits than the host.
std::size_t wrong_after(const Floats& values, const kernels::SegmentTable& rows,
                        std::size_t offset) {
    Device device;
    const Array<float> there{values, device, offset};
    const Tensors table{rows, device};
    kernels::cuda::unit_rows(there, table.span(), table.workspace(), device.stream());
    Floats host = values;
    kernels::unit_rows(host, rows);
    return different(there.values(), host);
}

}  // namespace

TEST_CASE("rows on a device have the host's bits, at every length and alignment", "[cuda]") {
    for (const std::size_t length : {1u, 3u, 4u, 64u, 100u, 128u, 1'025u, 4'097u, 65'537u}) {
        const std::size_t count = length < 2'000 ? 7 * length : 2 * length;
        INFO("rows of " << length);
        const auto rows = rows_of(count, length);
        for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
            CHECK(wrong_after(adversarial(Random{length}, count), rows, offset) == 0);
            CHECK(wrong_after(ordinary(Random{length}, count, 1e-41), rows, offset) == 0);
        }
    }
    CHECK(wrong_after(Floats(5), rows_of(0, 1), 0) == 0);
}

TEST_CASE("a device leaves gaps and rows without a length as they are", "[cuda]") {
    const std::vector<kernels::TensorPlace> places = places_with_gaps();
    CHECK(wrong_after(ManyTensors{places}.p, kernels::SegmentTable{places}, 0) == 0);
    const float infinity = std::numeric_limits<float>::infinity();
    const Floats odd{0.0f, -0.0f,     0.0f, infinity, 1.0f, 2.0f,
                     3.0f, -infinity, 5.0f, 1.0f,     2.0f, 3.0f};
    CHECK(wrong_after(odd, rows_of(odd.size(), 3), 0) == 0);
}
