"""Who may ask, and what a page may make the application do."""

import json
import time

import pytest
from app_server import Visitor, raw, served
from commands import run

CSV = b"score,label\n1.5,target\n0.5,target\n-0.5,nontarget\n0.75,nontarget\n-2,nontarget\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory, need):
    need("uvicorn")
    place = tmp_path_factory.mktemp("app")
    (place / "home").mkdir()
    (place / "home" / "secret.csv").write_bytes(b"canary\n")
    with served(place, "--max-upload", "2000") as running:
        yield running


@pytest.fixture(scope="module")
def visitor(server):
    return Visitor(server).log_in()


def test_the_token_works_once(server, visitor):
    stranger = Visitor(server)
    again = stranger.ask("GET", f"/?token={server.token}")
    assert again.status == 403
    assert "has been used" in again.text
    assert stranger.ask("GET", "/").status == 403
    assert visitor.ask("GET", f"/?token={server.token}").status == 303  # whoever has it is let in


@pytest.mark.parametrize("target", ["/", "/p/x/files", "/p/x/documents/a", "/new", "/%2e%2e/etc/passwd"])
def test_nothing_without_a_session(server, visitor, target):
    wrong = Visitor(server)
    wrong.cookie = visitor.cookie[:-1] + "x"
    for stranger in (Visitor(server), wrong):
        assert stranger.ask("GET", target).status == 403


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}", ""]
)
def test_another_host_is_refused_with_the_right_cookie(server, visitor, host):
    assert visitor.ask("GET", "/", host=host.format(port=server.port)).status == 421


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.test", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_a_form_of_another_site_is_refused(server, visitor, origin):
    headers = {} if origin is None else {"origin": origin.format(port=server.port)}
    kind = "application/x-www-form-urlencoded"
    assert visitor.ask("POST", "/new", "", content_type=kind, **headers).status == 403
    headers = {"origin": server.origin, "sec_fetch_site": "cross-site"}
    assert visitor.ask("POST", "/new", "", content_type=kind, **headers).status == 403


def test_every_answer_has_the_policy(server, visitor):
    for answer in (visitor.ask("GET", "/"), visitor.ask("GET", "/nothing"), Visitor(server).ask("GET", "/"),
                   visitor.ask("GET", "/static/app.js")):  # fmt: skip
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers
    cookie = Visitor(server).ask("GET", "/").headers.get("set-cookie")
    assert cookie is None


def test_an_upload_is_bounded_while_it_streams(server, visitor):
    project = visitor.new_project()
    for answer in (
        visitor.put(f"{project}/files", "a.csv", b"x" * 2001),
        visitor.put(f"{project}/files", "a", b""),
    ):
        assert answer.status in (400, 413)
    # more than was announced, in pieces without an announced length
    chunked = b"".join(b"3e8\r\n" + b"x" * 1000 + b"\r\n" for _ in range(3)) + b"0\r\n\r\n"
    head = (
        f"PUT {project}/files?name=b.csv HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Origin: {server.origin}\r\nCookie: {visitor.cookie}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    assert b" 413 " in raw(server, head.encode() + chunked).split(b"\r\n")[0]
    assert "a.csv" not in visitor.ask("GET", f"{project}/files").text
    left = [path for path in server.place.glob("tmp/llrkit-app-*/*/*") if path.is_file()]
    assert left == []


def test_a_file_stays_in_its_project_whatever_it_is_called(server, visitor):
    project = visitor.new_project()
    names = ["../../../home/x.csv", "/etc/passwd", "..\\..\\x", ".hidden", "a\x00b.csv", "-rf.csv"]
    for name in names:
        assert visitor.put(f"{project}/files", name, CSV).status == 200
    stored = list(server.place.glob(f"tmp/llrkit-app-*/{project[3:]}/files/*"))
    assert len(stored) == len(names)
    assert all(one.read_bytes() == CSV and not one.name.startswith((".", "-")) for one in stored)
    assert {path.name for path in (server.place / "home").iterdir()} <= {"secret.csv", ".config", ".cache"}
    visitor.post(f"{project}/close")  # which ends the reading of all of them
    assert not stored[0].parent.exists()


def test_a_page_names_no_paths(server, visitor):
    project = visitor.new_project()
    visitor.put(f"{project}/files", "a.csv", CSV)
    visitor.wait(project)
    secret = str(server.place / "home" / "secret.csv")
    for name in (secret, "../../home/secret.csv", "files/a.csv", "%2e%2e"):
        answers = [
            visitor.post(f"{project}/evaluate", file=name, ci="", seen=""),
            visitor.post(f"{project}/files/read", file=name, use="train"),
            visitor.post(f"{project}/files/remove", file=name),
            visitor.post(f"{project}/save", name=name),
            visitor.post("/open", name=name),
        ]
        assert [answer.status for answer in answers] == [400] * 5, name
        assert not any("canary" in answer.text for answer in answers)
        target = f"{project}/documents/{name.replace('/', '%2f')}"
        assert visitor.ask("GET", target).status == 404
    assert visitor.wait(project)[0]["state"] == "done"


def test_markup_in_names_and_cells_is_text(server, visitor):
    project = visitor.new_project()
    evil = "<img src=x onerror=alert(1)>"
    visitor.put(
        f"{project}/files", f"{evil}.csv", f"score,label,{evil}\n1,target,{evil}\n0,nontarget,x\n".encode()
    )
    visitor.wait(project)
    page = visitor.ask("GET", f"{project}/files").text
    assert "&lt;img src=x" in page
    assert "<img" not in page
    refused = visitor.post(f"{project}/save", name=evil)
    assert evil not in refused.text


def test_what_is_not_saved_is_gone_at_the_end(tmp_path, need):
    need("uvicorn")
    with served(tmp_path) as server:
        visitor = Visitor(server).log_in()
        project = visitor.new_project()
        visitor.put(f"{project}/files", "a.csv", CSV)
        assert list(tmp_path.glob("tmp/llrkit-app-*/*/files/a.csv"))
    assert server.said == ""
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list((tmp_path / "projects").iterdir()) == []


def test_a_job_is_canceled_at_once(server, visitor):
    project = visitor.new_project()
    visitor.put(f"{project}/files", "a.csv", CSV)
    (job,) = json.loads(visitor.ask("GET", f"{project}/jobs").text)
    begun = time.monotonic()
    visitor.post(f"{project}/cancel", job=job["id"], page="files")
    (after,) = visitor.wait(project)
    assert after["state"] == "canceled"
    assert time.monotonic() - begun < 60.0
    assert "Canceled" in visitor.ask("GET", f"{project}/files").text


def test_other_machines_are_let_in_on_request_only():
    code, _, err = run("app", "--host", "0.0.0.0", "--no-browser")
    assert code == 2
    assert "--allow-remote" in err
    code, _, err = run("app", "--max-upload", "much")
    assert code == 2
    assert err.strip() == "llrkit: error: --max-upload=much: expected a size such as 500M or 8G"
