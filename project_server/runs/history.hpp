// The steps of a run as its ledger has them: complete, without the database, and also while the
// run's backbone does not work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/views/run_status.hpp"

namespace dedloc::runs {

/// Reads a ledger behind its writer.
class RunHistory {
  public:
    /// Reads nothing yet.
    explicit RunHistory(backbone::RunFiles files) : files_(std::move(files)) {}

    /// Reads what is new. Errors: IoError (damaged). Cost: what is new; at first the whole file.
    void update();

    /// The run that it belongs to.
    const backbone::RunFiles& files() const { return files_; }
    /// All steps, ascending.
    const std::vector<server::StepLine>& lines() const { return lines_; }
    /// The mixture of sources that the last step was drawn by (CommitRecord::mixture).
    const std::optional<Digest>& mixture() const { return mixture_; }
    /// Digest of the run's last state, hex; empty until the run is finished.
    const std::string& final_digest() const { return final_digest_; }

  private:
    void take(const backbone::LedgerCommit& commit);
    void take(const backbone::LedgerSettled& settled);
    void take(const SignedGeneration& generation);
    void take(const StateCertificate& certificate);

    const backbone::RunFiles files_;
    std::optional<backbone::LedgerReader> reader_;  ///< nothing before there is a ledger
    std::vector<server::StepLine> lines_;
    std::optional<Digest> mixture_;
    std::string final_digest_;
};

}  // namespace dedloc::runs
