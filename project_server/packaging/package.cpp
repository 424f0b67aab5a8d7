// make_package() gathers the launcher, the program and its libraries, the further files with
// theirs, and glibc. Only then does it compute what depends on all of them: kernel, origins and
// bill; the licences are written and added last, so the bill does not list them. add_file() drops
// duplicates and refuses two files of one name, because all lie in one folder. write_package()
// writes the bill last, and read_package() requires it, so half a copy is refused.
#include "project_server/packaging/package.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/utc_text.hpp"
#include "peer/platform/files.hpp"
#include "project_server/packaging/bill_of_materials.hpp"
#include "project_server/packaging/closure.hpp"

namespace dedloc::packaging {
namespace {

namespace fs = std::filesystem;
using server::AppFile;

constexpr const char* kLauncher = "dedloc_launcher";
constexpr std::string_view kLauncherSuffix = "_launcher";
constexpr const char* kLicences = "licences.txt";
constexpr std::string_view kBillSuffix = ".cdx.json";
constexpr std::size_t kNoteBytes = 4'096;  // a program's notes are at its begin

/// Adds a file unless the package has it; two files cannot have one name in the slot.
void add_file(std::vector<AppFile>& files, const fs::path& path, const std::string& name) {
    const fs::path source = fs::canonical(path);
    const auto same = std::ranges::find(files, name, &AppFile::open_name);
    if (same == files.end()) {
        files.push_back({.source = source, .open_name = name});
    } else if (same->source != source) {
        throw InputError(fmt::format("{} and {} have the same name in a volunteer's slot",
                                     same->source.string(), source.string()));
    }
}

fs::path launcher_for(const fs::path& program) {
    for (const fs::path& folder :
         {fs::canonical(program).parent_path(), fs::canonical("/proc/self/exe").parent_path()}) {
        if (fs::is_regular_file(folder / kLauncher)) return folder / kLauncher;
    }
    throw InputError(fmt::format("there is no program {} beside {}", kLauncher, program.string()));
}

/// The newest kernel that one of the files needs.
std::optional<server::KernelVersion> kernel_for(const std::vector<AppFile>& files) {
    std::optional<server::KernelVersion> newest;
    for (const AppFile& file : files) {
        std::ifstream input{file.source, std::ios::binary};
        std::string begin(kNoteBytes, '\0');
        input.read(begin.data(), static_cast<std::streamsize>(begin.size()));
        begin.resize(static_cast<std::size_t>(input.gcount()));
        newest = std::max(newest, server::needed_kernel(begin));
    }
    return newest;
}

bool is_own(const AppFile& file) {
    const std::string name = file.source.filename().string();
    return name.starts_with("dedloc_") || name.starts_with("libdedloc_");
}

Contents contents_of(const Package& package) {
    Contents contents{.program = package.program, .items = {}};
    std::vector<fs::path> files;
    std::vector<fs::path> own;
    for (const AppFile& file : package.files) {
        contents.items.push_back({file.open_name, file.source});
        files.push_back(file.source);
        if (is_own(file)) own.push_back(file.source);
    }
    contents.origins = origins_of(files, own);
    contents.compiled_in = compiled_in();
    return contents;
}

bool ends_with_launcher(const std::string& name) {
    return name.size() > kLauncherSuffix.size() && name.ends_with(kLauncherSuffix);
}

void copy_to(const fs::path& from, const fs::path& to) {
    std::error_code failure;
    fs::copy_file(from, to, failure);
    if (failure) {
        throw IoError(
            fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), failure.message()));
    }
}

}  // namespace

std::uintmax_t Package::bytes() const {
    std::uintmax_t sum = 0;
    for (const AppFile& file : files) sum += fs::file_size(file.source);
    return sum;
}

std::uintmax_t Package::own_bytes() const {
    std::uintmax_t sum = 0;
    for (const AppFile& file : files) {
        const bool is_made = is_own(file) || file.open_name == kLicences;
        if (is_made) sum += fs::file_size(file.source);
    }
    return sum;
}

Package make_package(const fs::path& program, const std::vector<fs::path>& further,
                     const fs::path& folder) {
    const auto libraries = library_closure(program);
    const std::string name = program.filename().string();
    Package package{.program = name};
    auto& files = package.files;
    files.push_back({.source = fs::canonical(launcher_for(program)),
                     .open_name = name + std::string{kLauncherSuffix},
                     .is_main_program = true});
    add_file(files, program, name);
    for (const Needed& library : libraries) add_file(files, library.file, library.name);
    for (const fs::path& file : further) {
        const auto needed = library_closure(file);
        add_file(files, file, file.filename().string());
        for (const Needed& library : needed) add_file(files, library.file, library.name);
    }
    for (const Needed& library : c_library(program)) add_file(files, library.file, library.name);
    package.kernel = kernel_for(files);
    const Contents contents = contents_of(package);
    for (const Item& item : contents.items) {
        if (!contents.origins.contains(item.file)) package.unknown.push_back(item.name);
    }
    package.bill = bill_of_materials(
        contents, utc_text(static_cast<std::int64_t>(server::unix_now()), "%Y-%m-%dT%H:%M:%SZ"));
    platform::replace_file(folder / kLicences, licence_texts(contents));
    files.push_back({.source = folder / kLicences, .open_name = kLicences});
    return package;
}

void write_package(const Package& package, const fs::path& folder) {
    std::error_code failure;
    fs::create_directories(folder, failure);
    if (failure || !fs::is_empty(folder)) {
        throw InputError(fmt::format("{} is not an empty folder", folder.string()));
    }
    for (const AppFile& file : package.files) copy_to(file.source, folder / file.open_name);
    platform::replace_file(folder / (package.program + std::string{kBillSuffix}), package.bill);
}

Package read_package(const fs::path& folder) {
    std::set<std::string> names;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator{folder, failure}) {
        if (entry.is_regular_file()) names.insert(entry.path().filename().string());
    }
    const auto launcher = std::ranges::find_if(names, ends_with_launcher);
    if (launcher == names.end()) {
        throw InputError(
            fmt::format("{} holds no package: dedloc app package makes one", folder.string()));
    }
    Package package{.program = launcher->substr(0, launcher->size() - kLauncherSuffix.size())};
    const std::string bill = package.program + std::string{kBillSuffix};
    if (!names.contains(package.program) || !names.contains(bill) || !names.contains(kLicences)) {
        throw InputError(fmt::format("{} holds a package without {}, {} or {}", folder.string(),
                                     package.program, bill, kLicences));
    }
    package.bill = platform::read_text(folder / bill);
    for (const std::string& name : names) {
        if (name == bill) continue;
        package.files.push_back(
            {.source = folder / name, .open_name = name, .is_main_program = name == *launcher});
    }
    package.kernel = kernel_for(package.files);
    return package;
}

}  // namespace dedloc::packaging
