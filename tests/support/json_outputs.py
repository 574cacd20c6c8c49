"""Commands whose JSON is compared with what was frozen, and the files that they read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

OUTPUTS = """
calibrate sp.csv --speakers es,ts --method logistic -o o/logistic.json
calibrate x.csv --method pav --bound none -o o/pav.json
calibrate cls.csv --classes a,b,c -o o/classes.json
case k.json --h1 same --h2 other --score 0.5
case k.json --h1 same --h2 other --train x.csv --scores u.csv --validation y.csv --verbal
compare x.csv y.csv sp.csv --ids test
compare sp.csv sp2.csv --speakers es,ts
diagnose sp.csv --point 0.05
diagnose x.csv
biometrics differential sp.csv --by sex --fmr 0.1 --subjects es,ts
diagnose x.csv z.csv --methods cmlg,logistic
diagnose cls.csv cls2.csv --classes a,b,c --methods scale-offset
evaluate sp.csv --by sex --ci speaker --speakers es,ts --point sre12 --point 0.05 --threshold-from y.csv
evaluate sp.csv --ci trial
biometrics rates sp.csv --failures bad --fmr 0.1
evaluate sp.csv --by sex --shared nontarget
evaluate sp.csv --equalize sex
evaluate known.csv --known known --point sre12
evaluate inf.csv
evaluate x.csv --map t.json
evaluate cls.csv --classes a,b,c --point lre07
fuse x.csv y.csv --ids test --method gaussian -o o/fusion.json
fuse --sasv w.csv -o o/sasv.json
biometrics identify q.csv
biometrics identify open.csv --fpir 0.2
speech train e.npz --backend cosine -o o/m.npz
speech enroll m.npz e.npz -o o/en.npz
speech extract m.npz e.npz -o o/ex.npz
speech cohort m.npz e.npz -o o/c.npz
speech score m.npz s.npz e.npz -o o/sc.csv
report x.csv -o o/r.html --map t.json
report cls.csv --classes a,b,c -o o/r.html
shift t.json sp.csv
shift t.json sp.csv -o o/adapted.json
shift t.json sp.csv -o o/adapted.json --labeled y.csv
simulate scores --targets 40 --nontargets 200 -o o/a.csv
simulate scores --model mixture --targets 40 --nontargets 200 -o o/a.csv
simulate scores --model gamma --targets 40 --nontargets 200 -o o/a.csv
simulate scores --model unequal --targets 40 --nontargets 200 -o o/a.csv
simulate scores --model durations --targets 40 --nontargets 200 -o o/a.csv
simulate plda --dim 6 --speakers 8 --models 16 --tests 16 -o o/a.csv
simulate embeddings --dim 6 --background 30 --speakers 6 --sessions 2 -o o/emb.npz
simulate frames --speakers 3 --seconds 2 -o o/f.npz
spoof w.csv --attack-column attack
spoof w.csv --attack-column attack --vocabulary biometrics
spoof w.csv --sasv-column asv --speakers es,ts
theory --eer 5% --eer 1%
threshold sp.csv --speakers es,ts --ci speaker
threshold y.csv --on x.csv --false-alarm-rate 5%
threshold x.csv --ci none
validate x.csv --criteria c.toml --verbal
validate sp.csv --criteria full.toml
""".strip().splitlines()
"""``paper`` takes long and has tests of its own."""

CRITERIA = """
[report]
laboratory = "here"
[options]
speakers = ["es", "ts"]
points = ["sre08"]
[[criterion]]
characteristic = "accuracy"
metric = "cllr"
at_most = 0.2
use = "interval"
[[criterion]]
characteristic = "calibration"
metric = "verdict"
"""


def more_inputs(folder: Path) -> None:
    """Files beside those of :func:`kills.make_inputs`: classes, shared speakers, failures, infinities."""
    rng = np.random.default_rng(0)
    label = np.arange(300) % 3
    for name in ("cls", "cls2"):
        scores = rng.normal(size=(300, 3)) + 2.0 * (label[:, None] == np.arange(3))
        names = {letter: scores[:, i] for i, letter in enumerate("abc")}
        ids = [f"{name}{i}" for i in range(300)]
        pl.DataFrame({"utt": ids, "label": np.array(list("abc"))[label], **names}).write_csv(
            folder / f"{name}.csv"
        )
    n = np.arange(600)
    is_target = n % 2
    shared = pl.DataFrame({
        "enroll": [f"m{i}" for i in n], "test": [f"t{i}" for i in n], "es": [f"s{i % 40}" for i in n],
        "ts": [f"s{(i + 1 - i % 2) % 40}" for i in n], "score": rng.normal(size=600) + 1.5 * is_target,
        "label": is_target, "sex": np.array(["f", "m"])[n // 2 % 2], "bad": (n % 50 == 0).astype(int),
    })  # fmt: skip
    shared.write_csv(folder / "sp.csv")
    shared.with_columns(pl.col("score") + rng.normal(size=600)).write_csv(folder / "sp2.csv")
    known = {"score": rng.normal(size=600) + 3 * is_target, "label": is_target, "known": n % 3 == 0}
    pl.DataFrame(known).write_csv(folder / "known.csv")
    (folder / "inf.csv").write_text("score,label\n-inf,1\n2,1\n1,0\n-inf,0\n0.5,0\n3,1\n")
    model, segment = np.divmod(np.arange(400), 40)
    mated = (model == segment % 10) & (segment < 20)
    crossed = {"enroll": model, "test": segment, "score": rng.normal(size=400) + 3 * mated, "label": mated}
    pl.DataFrame(crossed).write_csv(folder / "open.csv")
    spoofed = pl.read_csv(folder / "w.csv")
    spoofed.with_columns(
        es=pl.Series([f"s{i // 3 % 30}" for i in range(300)]),
        ts=pl.Series([f"s{i // 3 % 30}" for i in range(300)]),
    ).write_csv(folder / "w.csv")
    (folder / "full.toml").write_text(CRITERIA)
