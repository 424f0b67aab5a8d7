#include "project_server/packaging/closure.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "peer/base/error.hpp"

namespace dedloc::packaging {

TEST_CASE("NVIDIA's driver is left out of a program's closure", "[server]") {
    CHECK(parse_ldd("\tlibcuda.so.1 => not found\n\tlibnvidia-ml.so.1 => /x/ml (0x00007f)\n")
              .empty());
}

TEST_CASE("the C library is left out of a program's closure", "[server]") {
    const auto closure = parse_ldd(
        "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibgomp.so.1 => /x/a b/libgomp.so.1 (0x00007f)\n"
        "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n"
        "\tlibc10.so => /x/libc10.so (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n");
    CHECK(closure == std::vector<Needed>{{"libc10.so", "/x/libc10.so"},
                                         {"libgomp.so.1", "/x/a b/libgomp.so.1"}});
    CHECK_THROWS_WITH(
        parse_ldd("\tlibc10.so => not found\n"),
        Catch::StartsWith("the library libc10.so, which the program needs, was not found: ") &&
            Catch::Contains("may not read"));
    CHECK_THROWS_AS(library_closure("/etc/passwd"), InputError);
}

TEST_CASE("the C library comes with its loader and the parts that a driver needs", "[server]") {
    const auto all = c_library("/bin/true");
    for (const char* const name : {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libm.so.6",
                                   "libpthread.so.0", "librt.so.1"}) {
        INFO(name);
        const auto found = std::ranges::find(all, name, &Needed::name);
        REQUIRE(found != all.end());
        CHECK(std::filesystem::exists(found->file));
    }
    CHECK_THROWS_AS(c_library("/etc/passwd"), InputError);
}

}  // namespace dedloc::packaging
