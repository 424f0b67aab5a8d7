// BOINC's documents of jobs and app versions, as its tables keep them, and the messages of jobs. An
// official server's programs, administrators and clients have written them, so a document that is
// damaged has fewer files, and every name is checked.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::server {

/// Whether a client may use this file name: at most 200 letters, digits, ".", "-", "_" and "+", not
/// starting with a dot.
bool is_file_name(std::string_view name);

/// A <file_info> of a document.
struct DescribedFile {
    std::string name;           ///< empty unless is_file_name() holds
    double bytes = 0;           ///< its <nbytes>; 0 if it has none, or a number that cannot be true
    double download_bytes = 0;  ///< what a client downloads: fewer where a compressed copy exists
};

/// The files that a document describes: workunit.xml_doc, result.xml_doc_in or app_version.xml_doc.
std::vector<DescribedFile> described_files(std::string_view document);

/// The names of these files, without the empty ones.
std::set<std::string> described_names(std::string_view document);

/// The files that the job of such a document uses: those of its <file_ref> elements that
/// is_file_name() holds for.
std::vector<std::string> referenced_files(std::string_view document);

/// The size of the files that the document of an app version has in the slot, in bytes. The client
/// counts a link as the file that it leads to, so it makes no difference whether one is copied.
double slot_bytes_of(std::string_view document);

/// The result that an output file RESULT_rRANDOM_NUMBER belongs to, or a part of it that an upload
/// handler of ours has not completed; empty for any other name.
std::string result_of_output(std::string file);

/// The result that a message of a job names in the <result_name> that the client has written before
/// the app's text; empty if there is none with a name as results have, which is_file_name() holds
/// for.
std::string result_name_in(std::string_view message);

}  // namespace dedloc::server
