// The ledger of each run is proven once, and every checkpoint file is then judged by it, in the
// order of names. A file beyond the end of the proof was written meanwhile, so the proof is
// extended and the file is judged again. The digest of the bytes comes last, because it is the
// costly check, and --quick leaves it out. A file that vanishes is no finding: the backbone removes
// old ones. A ledger that cannot be trusted is a finding of another check; here it makes the result
// unknown.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "project_server/backbone/checkpoint_file.hpp"
#include "project_server/backbone/ledger_proof.hpp"
#include "project_server/check/checks.hpp"
#include "project_server/check/run_folder.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;
using backbone::Standing;

const std::string kRemove = "remove the file: the backbone gets the state from the members";

class Checkpoints {
  public:
    Checkpoints(const RunFolder& folder, backbone::LedgerProof& proof, bool is_quick,
                Findings& findings)
        : folder_(folder), proof_(proof), is_quick_(is_quick), findings_(findings) {}

    void check_all() {
        std::vector<fs::path> files;
        std::error_code failed;
        for (const auto& entry : fs::directory_iterator{folder_.folder / "checkpoints", failed}) {
            if (entry.path().extension() == ".state") files.push_back(entry.path());
        }
        std::ranges::sort(files);
        const auto before = findings_.count(Level::kBad);
        for (const auto& file : files) {
            try {
                check_file(file);
            } catch (const Error& error) {
                // The backbone removes old ones meanwhile.
                if (fs::exists(file)) findings_.bad(error.what(), kRemove);
            }
        }
        if (findings_.count(Level::kBad) != before) return;
        const auto step = proof_.head().step.value();
        if (usable_ == 0 && step > 0) {
            findings_.warning(fmt::format("the run {} is at step {} and has no checkpoint that its "
                                          "ledger proves",
                                          folder_.name(), step),
                              "keep members in the run until the backbone has written one");
        } else {
            findings_.good(fmt::format(
                "{} checkpoints of the run {} hold the states that they "
                "name{}",
                usable_, folder_.name(), is_quick_ ? "; their bytes were not read" : ""));
        }
    }

  private:
    void check_file(const fs::path& path) {
        const backbone::CheckpointFile file{path, folder_.id};
        const auto& head = file.head();
        if (head.elements != formats::element_count(*folder_.run)) {
            return findings_.bad(fmt::format("{} is not a state of this run", path.string()),
                                 kRemove);
        }
        Standing standing = proof_.judge(head);
        if (head.step > proof_.head().step) {  // written while the others were read
            proof_.extend();
            standing = proof_.judge(head);
        }
        if (standing == Standing::kUnproven) {
            return findings_.warning(fmt::format("{} is a state that the ledger does not lead to; "
                                                 "it is not used",
                                                 path.string()),
                                     "left by a backbone that was killed, or by an older "
                                     "generation: it may be removed");
        }
        if (!is_quick_ && file.read_all() != head.digest) {
            return findings_.bad(fmt::format("{} is damaged: its bytes are not the state that it "
                                             "names",
                                             path.string()),
                                 kRemove);
        }
        ++usable_;
    }

    const RunFolder& folder_;
    backbone::LedgerProof& proof_;
    const bool is_quick_;
    Findings& findings_;
    std::size_t usable_ = 0;
};

}  // namespace

void check_checkpoints(const Subject& subject, Findings& findings) {
    bool is_empty = true;
    for (const RunFolder& folder : run_folders(subject.state())) {
        if (!folder.run || !fs::exists(folder.ledger())) continue;
        is_empty = false;
        try {
            backbone::LedgerProof proof{folder.ledger(), *folder.run};
            Checkpoints{folder, proof, subject.is_quick, findings}.check_all();
        } catch (const Error&) {
            // A ledger that cannot be trusted is a finding of check_ledgers.
            findings.unknown(
                fmt::format("the checkpoints of the run {} were not checked, because "
                            "its ledger cannot be read",
                            folder.name()));
        }
    }
    if (is_empty) findings.good("no run has a ledger yet");
}

}  // namespace dedloc::check
