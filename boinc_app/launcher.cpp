// The main program of an app version. It runs the version's own program on the version's own glibc,
// so that neither an older nor a newer glibc of the volunteer's system matters.
//
// BOINC's client starts it in the slot of the job, under its permanent name, such as
// dedloc_train_launcher.0123456789ab. The other files of the version are in the slot by the names
// that programs open: each is a file with BOINC's element <soft_link>, a symbolic link, or the file
// itself. A loader reads no <soft_link>, so the launcher makes a symbolic link in lib/ for the
// program and each shared library, and then becomes the loader: same process, same arguments.
//
// It is linked statically and writes with the calls of the kernel only.
#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view kSuffix = "_launcher";
constexpr std::string_view kLoader = "ld-linux-x86-64.so.2";
constexpr const char* kLibraries = "lib";
/// The folder of a link to the loader that has the program's name, which process lists show.
constexpr const char* kNames = "loader";
/// A file with a <soft_link> is smaller; so is no program or library.
constexpr off_t kMaxSoftLink = 4'096;

/// Prints one sentence and ends.
[[noreturn]] void fail(const std::string& what, int error) {
    std::string line = "dedloc_launcher: " + what;
    if (error != 0) line += std::string{": "} + std::strerror(error);
    line += '\n';
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    std::exit(1);
}

/// The program's name: that of this file up to "_launcher".
std::string program_name() {
    const char* const started =
        reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr)
    std::string_view name = started != nullptr ? started : "";
    name = name.substr(name.rfind('/') + 1);
    const auto end = name.rfind(kSuffix);
    if (end == 0 || end == std::string_view::npos) {
        fail("it is named " + std::string{name} + " instead of PROGRAM" + std::string{kSuffix}, 0);
    }
    return std::string{name.substr(0, end)};
}

/// What the <soft_link> in a small file says; empty if there is none.
std::string soft_link_in(const std::string& name) {
    const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail("cannot read " + name, errno);
    std::string text(static_cast<std::size_t>(kMaxSoftLink), '\0');
    const ssize_t bytes = ::read(file, text.data(), text.size());
    ::close(file);
    if (bytes < 0) fail("cannot read " + name, errno);
    text.resize(static_cast<std::size_t>(bytes));
    constexpr std::string_view kBegin = "<soft_link>";
    const auto begin = text.find(kBegin);
    const auto end = text.find("</soft_link>");
    if (begin != 0 || end == std::string::npos) return {};
    return text.substr(kBegin.size(), end - kBegin.size());
}

/// The target of a symbolic link, in a subfolder of the slot, to this file of the version.
std::string target_of(const std::string& name) {
    struct stat status {};
    if (::lstat(name.c_str(), &status) != 0) fail("cannot read " + name, errno);
    std::string target = name;
    if (S_ISREG(status.st_mode) && status.st_size < kMaxSoftLink) {
        if (const std::string link = soft_link_in(name); !link.empty()) target = link;
    }
    return target.front() == '/' ? target : "../" + target;
}

/// Makes the link, also in place of one that an earlier start of the job has made.
void link(const std::string& target, const std::string& place) {
    if (::symlink(target.c_str(), place.c_str()) == 0) return;
    const bool is_there = errno == EEXIST && ::unlink(place.c_str()) == 0;
    if (!is_there || ::symlink(target.c_str(), place.c_str()) != 0) {
        fail("cannot make the link " + place, errno);
    }
}

void make_folder(const char* folder) {
    if (::mkdir(folder, 0755) != 0 && errno != EEXIST) {
        fail(std::string{"cannot make the folder "} + folder, errno);
    }
}

/// Links the program and each library of the slot.
void link_files(const std::string& program) {
    make_folder(kLibraries);
    make_folder(kNames);
    DIR* const slot = ::opendir(".");
    if (slot == nullptr) fail("cannot read the job's folder", errno);
    bool has_program = false;
    bool has_loader = false;
    while (const dirent* const entry = ::readdir(slot)) {
        const std::string name = entry->d_name;
        const bool is_program = name == program;
        if (!is_program && name.find(".so") == std::string::npos) continue;
        has_program = has_program || is_program;
        has_loader = has_loader || name == kLoader;
        link(target_of(name), std::string{kLibraries} + '/' + name);
    }
    ::closedir(slot);
    if (!has_program) fail("there is no file " + program + " in the job's folder", 0);
    if (!has_loader) fail("there is no file " + std::string{kLoader} + " in the job's folder", 0);
    link(target_of(std::string{kLoader}), std::string{kNames} + '/' + program);
}

}  // namespace

/// Becomes the program, with the arguments of this one.
int main(int count, char** arguments) {
    const std::string program = program_name();
    link_files(program);
    // The volunteer's own folders come last, for a driver that is not in the system's.
    std::string folders = kLibraries;
    const char* const others = std::getenv("LD_LIBRARY_PATH");
    if (others != nullptr && *others != '\0') folders += std::string{":"} + others;
    const std::string loader = std::string{kNames} + '/' + program;
    const std::string file = std::string{kLibraries} + '/' + program;
    std::vector<const char*> command{program.c_str(), "--library-path", folders.c_str(),
                                     "--argv0",       program.c_str(),  file.c_str()};
    for (int i = 1; i < count; ++i) command.push_back(arguments[i]);
    command.push_back(nullptr);
    ::execv(loader.c_str(), const_cast<char* const*>(command.data()));
    fail("cannot start " + loader, errno);
}
