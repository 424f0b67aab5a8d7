#include "kernels/unit_rows.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/kernels/aborts.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/many_tensors.hpp"
#include "tests/kernels/one_tensor.hpp"
#include "tests/kernels/slow_reference.hpp"

using namespace dedloc;
using namespace dedloc::kernels;
using tests::Floats;

TEST_CASE("rows get the bits of the slow reference, and gaps stay as they are", "[kernels]") {
    const std::vector<TensorPlace> places = tests::places_with_gaps();
    tests::ManyTensors all{places};
    Floats expected = all.p;
    for (const TensorPlace& place : places) {
        const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(place.offset);
        Floats row(begin, begin + static_cast<std::ptrdiff_t>(place.count));
        tests::slow::unit_row(row);
        if (row.empty()) continue;
        std::memcpy(&*begin, row.data(), row.size() * sizeof(float));
    }
    unit_rows(all.p, SegmentTable{places});
    CHECK(std::memcmp(all.p.data(), expected.data(), 4 * expected.size()) == 0);
}

TEST_CASE("a row has length 1 afterwards, within the rounding of its elements", "[kernels]") {
    for (const std::size_t length : {1u, 2u, 128u, 70'000u}) {
        Floats values = tests::ordinary(Random{length}, 3 * length, 5);
        const Floats before = values;
        unit_rows(values, tests::rows_of(3 * length, length));
        for (std::size_t row = 0; row < 3; ++row) {
            double squares = 0;
            for (std::size_t i = row * length; i < (row + 1) * length; ++i) {
                squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
                CHECK((values[i] < 0) == (before[i] < 0));
            }
            // Each element has a relative error of at most 2⁻²⁴ and a little.
            CHECK(std::fabs(std::sqrt(squares) - 1) <= 1.001 / 16'777'216);
        }
    }
}

TEST_CASE("a row without a length stays as it is", "[kernels]") {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const Floats& row :
         {Floats{0.0f, -0.0f, 0.0f}, Floats{infinity, 1, 2}, Floats{3, NAN, 2}, Floats{}}) {
        Floats values = row;
        unit_rows(values, tests::one_tensor(row.size()));
        CHECK((row.empty() || std::memcmp(values.data(), row.data(), 4 * row.size()) == 0));
    }
    // The largest and the smallest elements have a length.
    Floats huge(4, std::numeric_limits<float>::max());
    unit_rows(huge, tests::one_tensor(4));
    CHECK(huge == Floats(4, 0.5f));
    Floats tiny(4, std::numeric_limits<float>::denorm_min());
    unit_rows(tiny, tests::one_tensor(4));
    CHECK(tiny == Floats(4, 0.5f));
}

TEST_CASE("rows beyond the end of a vector are refused in one sentence", "[kernels]") {
    Floats values(4);
    CHECK(tests::aborts_saying("a row lies beyond the end",
                               [&] { unit_rows(values, tests::one_tensor(5)); }));
}
