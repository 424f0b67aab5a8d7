// A minimal BOINC app: copies its input to its output in capitals, or unchanged with "--verbatim",
// as often as "--repeat" says, and writes to its log what the client has given it.
#include <boinc_api.h>
#include <filesys.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

int main(int count, char** arguments) {
    boinc_init();
    APP_INIT_DATA given;
    boinc_get_init_data(given);
    long repeat = 1;
    bool is_verbatim = false;
    for (int i = 1; i < count; ++i) {
        if (std::strcmp(arguments[i], "--verbatim") == 0) is_verbatim = true;
        if (i + 1 == count) break;
        if (std::strcmp(arguments[i], "--repeat") == 0) repeat = std::atol(arguments[i + 1]);
    }
    std::string input;
    std::string output;
    boinc_resolve_filename_s("in", input);
    boinc_resolve_filename_s("out", output);
    std::ifstream source{input};
    std::string text{std::istreambuf_iterator<char>{source}, {}};
    if (!is_verbatim) {
        for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    std::ofstream copy{output};
    for (long i = 0; i < repeat; ++i) copy << text;
    std::fprintf(stderr, "copied %zu bytes\n", text.size());
    std::fprintf(stderr, "given %.1f cpus, gpu '%s' %d\n", given.ncpus, given.gpu_type,
                 given.gpu_device_num);
    copy.close();
    boinc_finish(source && copy ? 0 : 1);
}
