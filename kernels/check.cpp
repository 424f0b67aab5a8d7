#include "kernels/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace dedloc::kernels {

void require_failed(const char* file, int line, const char* sentence,
                    std::initializer_list<double> values) {
    std::fprintf(stderr, "%s:%d: %s", file, line, sentence);
    for (const double value : values) std::fprintf(stderr, " [%.17g]", value);
    std::fputc('\n', stderr);
    std::abort();
}

}  // namespace dedloc::kernels
