"""The file of criteria to begin with: it can be used as it is, and so can what is commented out."""

import re
import tomllib

from commands import run

from llrkit.validation.criteria import CHARACTERISTICS, REPORT_FIELDS, criteria_from_dict, read_criteria


def test_it_is_read_as_it_is_and_with_everything_switched_on(tmp_path):
    file = tmp_path / "criteria.toml"
    assert run("validate", "--init", file)[0] == 0
    assert {row.characteristic for row in read_criteria(file).rows} == {
        "accuracy", "discriminating power", "calibration",
    }  # fmt: skip
    text = file.read_text().replace('\nci = "trial"', "")  # the other way comes with its columns
    plain = tomllib.loads(re.sub(r"(?m)^# (?=\[\[criterion\]\]|\w+ = )", "", text))
    everything = criteria_from_dict(plain)
    assert {row.characteristic for row in everything.rows} == set(CHARACTERISTICS)
    assert set(everything.report) == set(REPORT_FIELDS)
    assert everything.options["speakers"] == ["enroll_speaker", "test_speaker"]


def test_it_is_not_written_over_and_nothing_is_validated_meanwhile(tmp_path):
    file = tmp_path / "criteria.toml"
    file.write_text("mine")
    code, _, err = run("validate", "--init", file)
    assert code == 2
    assert "not written over" in err
    assert file.read_text() == "mine"
    for arguments, said in (((), "SCORES is missing"), (("x.csv",), "--criteria is missing")):
        code, _, err = run("validate", *arguments)
        assert code == 2
        assert said in err
    assert run("validate", "x.csv", "--init", tmp_path / "new.toml")[0] == 2
