"""Speech to test with: sentences spoken by espeak-ng in voices that differ in timbre, pitch and accent."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

VOICES = (
    "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "f1", "f2", "f3", "f4", "f5", "Andrea", "Annie",
    "Denis", "Diogo", "Gene", "Hugo", "Jacky", "Lee", "Mario", "Michael", "Mike", "linda", "steph",
    "belinda", "robert", "victor", "zac", "paul", "sandro", "max", "ed", "john", "Alicia", "Storm",
    "travis", "iven", "pablo",
)  # fmt: skip
MORE_VOICES = (
    *VOICES, "Alex", "Andy", "Marco", "Henrique", "adam", "anika", "announcer", "antonio", "aunty",
    "benjamin", "boris", "caleb", "david", "edward", "grandma", "grandpa", "marcelo", "miguel", "pedro",
    "quincy",
)  # fmt: skip
ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-029")
SENTENCES = (
    "Seven lamps were burning in the narrow street",
    "My brother keeps his tools under the stairs",
    "We waited for the ferry until it got dark",
    "Nobody had told the gardener about the frost",
    "She put three apples and a map into her bag",
    "The engine coughed twice and then gave up",
    "Please leave the window open when you go",
    "An old dog slept in front of the bakery",
    "They painted the whole fence before noon",
    "His letters arrived a week after he did",
    "Thunder rolled over the hills all evening",
    "You can buy fresh bread around the corner",
)


def command_to_speak(program, path, voice, rng):
    """Two sentences into a WAV file, never quite at the same pitch, pace and loudness."""
    number = MORE_VOICES.index(voice)
    text = ". ".join(SENTENCES[i] for i in rng.choice(len(SENTENCES), 2, replace=False))
    pitch, pace, loudness = (int(rng.integers(a, b)) for a, b in ((-4, 5), (145, 190), (60, 120)))
    options = ["-v", f"{ACCENTS[number % 4]}+{voice}", "-p", 30 + 4 * (7 * number % 11) + pitch]
    return [str(part) for part in (program, *options, "-s", pace, "-a", loudness, "-w", path, text)]


def speak_corpus(program, folder, *, n_train=6, n_enroll=2, n_test=3, seed=1, voices=VOICES):
    """Lists train.tsv, enroll.tsv and test.tsv: every other voice trains, the others are tested."""
    rng = np.random.default_rng(seed)
    rows = {"train": [], "enroll": [], "test": []}
    commands = []
    for number, voice in enumerate(voices):
        parts = ["train"] * n_train if number % 2 else ["enroll"] * n_enroll + ["test"] * n_test
        for i, part in enumerate(parts):
            name = f"{voice}-{i}.wav"
            commands.append(command_to_speak(program, folder / name, voice, rng))
            rows[part].append(f"{voice}\t{name}\n")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(partial(subprocess.run, check=True, timeout=120), commands))
    for part, lines in rows.items():
        (folder / f"{part}.tsv").write_text("".join(lines))
