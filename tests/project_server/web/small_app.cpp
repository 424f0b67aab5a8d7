// A minimal BOINC app: copies its input to its output in capitals.
#include <boinc_api.h>
#include <filesys.h>

#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

int main() {
    boinc_init();
    std::string input;
    std::string output;
    boinc_resolve_filename_s("in", input);
    boinc_resolve_filename_s("out", output);
    std::ifstream source{input};
    std::string text{std::istreambuf_iterator<char>{source}, {}};
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::ofstream{output} << text;
    std::fprintf(stderr, "copied %zu bytes\n", text.size());
    boinc_finish(source ? 0 : 1);
}
