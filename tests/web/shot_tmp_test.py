import pathlib
import shutil


def test_shots(isolated_home, browser):
    src=pathlib.Path("/work/shared/transcripts")
    for i,f in enumerate(sorted(src.rglob("claude*.jsonl"))):
        d=isolated_home/".claude"/"projects"/f"-p{i%5}"; d.mkdir(parents=True,exist_ok=True)
        shutil.copy(f, d/f.name)
    for i,f in enumerate(sorted(src.rglob("codex*.jsonl"))):
        d=isolated_home/".codex"/"sessions"/"2026"/"01"/"06"; d.mkdir(parents=True,exist_ok=True)
        shutil.copy(f, d/f"rollout-2026-01-06T12-00-0{i}-01a1e0be-dee8-7b23-ae31-94e0123734a{i}.jsonl")
    out=pathlib.Path("/tmp/shots25"); out.mkdir(exist_ok=True)

    from leftoff.web.library import key_of
    big=isolated_home/".claude"/"projects"
    three=next(big.rglob("*three-comp*"))
    pages={"home":"/","session":f"/session/{key_of(str(three))}"}
    for name,path in pages.items():
        browser.open(path)
        for w,h,dark in ((1400,900,False),(1400,900,True),(360,800,False)):
            browser.resize(w,h,is_dark=dark)
            if name=="session":
                browser.wait("document.querySelector('.uplot') && document.querySelector('.log h2')")
            import time; time.sleep(.4)
            browser.chrome.save_screenshot(str(out/f"{name}-{w}{'-dark' if dark else ''}.png"))
        print(name, browser.accessibility_problems())
    browser.read_logs(); print(browser.complaints)
