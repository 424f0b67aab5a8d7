#include "project_server/control/picture.hpp"

#include <algorithm>

namespace dedloc::control {
namespace {

struct Change {
    Snapshot& picture;

    void operator()(const StepCommitted& what) const {
        (*this)(StepsVoid{what.step.step - std::min<std::uint64_t>(what.step.step, 1)});
        auto& recent = picture.recent;
        if (recent.size() >= kRecentSteps) recent.erase(recent.begin());
        recent.push_back(what.step);
        picture.progress.step = what.step.step;
        picture.progress.samples = 0;
    }
    void operator()(const StepSettled& what) const {
        const auto step = std::ranges::find(picture.recent, what.step, &StepView::step);
        if (step == picture.recent.end()) return;
        step->digest = what.digest;
        step->reported = what.reported;
        step->equal = what.equal;
    }
    void operator()(const StepsVoid& what) const {
        std::erase_if(picture.recent, [&](const StepView& s) { return s.step > what.after; });
    }
    void operator()(const MemberJoined& what) const {
        auto& members = picture.members;
        const auto place = std::ranges::lower_bound(members, what.member.key, {}, &MemberView::key);
        if (place != members.end() && place->key == what.member.key) {
            *place = what.member;
        } else if (members.size() < kMaxMembers) {
            members.insert(place, what.member);
        }
    }
    void operator()(const MemberLeft& what) const {
        std::erase_if(picture.members, [&](const MemberView& m) { return m.key == what.key; });
    }
    void operator()(const Progress& what) const { picture.progress = what.progress; }
    void operator()(const StateChanged& what) const { picture.state = what.state; }
    void operator()(const Suspicion&) const {}
};

}  // namespace

Applied apply(Snapshot& picture, const Event& event) {
    if (event.session != picture.session) return Applied::kGap;
    if (event.sequence <= picture.sequence) return Applied::kOld;
    if (event.sequence != picture.sequence + 1) return Applied::kGap;
    picture.sequence = event.sequence;
    std::visit(Change{picture}, event.what);
    return Applied::kChanged;
}

}  // namespace dedloc::control
