"""Agreement of a run's judge with people, and with itself when it is asked again."""

from rubricate.analysis.agreement._agreement import (
    FEW as FEW,
    AgreementReport as AgreementReport,
    CriterionAgreement as CriterionAgreement,
    agreement_report as agreement_report,
    units as units,
)
from rubricate.analysis.agreement._certificate import (
    Certificate as Certificate,
    CertifiedCriterion as CertifiedCriterion,
    CertifiedShare as CertifiedShare,
    check_certificate as check_certificate,
)
from rubricate.analysis.agreement._pairs import Pair as Pair, labelled_pairs as labelled_pairs
from rubricate.analysis.agreement._probabilities import calibration_text as calibration_text
