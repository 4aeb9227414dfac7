"""Recognising first prompts that ask to continue: a wrong match gives a log to the wrong session."""

import pytest

from leftoff.resume_logs.continuing import asks_to_continue

GOING_ON = """\
continue
Continue.
continue, please
Please continue.
please continue with the parser
ok, let's go on with the parser
Okay let's continue
I want to continue
I'd like to continue where I left off
I would like you to continue
We need to continue the migration
Hi, please continue
Hello! Can you continue?
Good morning, let's pick up where we left off
hey there, keep going
go on
Go ahead
go ahead, please
Yes, go ahead.
yes please continue
sure, proceed
Proceed with the plan
proceed to the next step
resume
Resume the session
resume work
Resume where you stopped
resume from where we stopped yesterday
carry on
Carry on with the refactoring
keep going!
keep going until the tests pass
keep working on the lock
Keep at it
pick up where you left off
pick it up again
Pick up from the last step
where were we?
Where did we leave off?
So, where did you stop?
What's next?
What is next
What's the next step?
what\N{RIGHT SINGLE QUOTATION MARK}s next on the list?
next step
Do the next task.
Could you please continue the implementation?
continue: the tests still fail
Continue - and use tabs this time
continue working on src/lock.py
Continue implementing the cache
continue with step 3
Continue to the next item
Time to continue
Now continue
Let's get back to work
Start again from where we left off
Begin from where it stopped yesterday
Where you left off, please
finish what you started
Finish the job
Continue from the last commit
continue from before
Carry on from earlier, but skip the tests
weiter
Bitte weitermachen!
Mach weiter, aber ohne Docker
Weiter geht's
weiter mit dem Parser
Lass uns weitermachen
Kannst du weitermachen?
Wir machen weiter
Dann mal weiter
Tu peux continuer ?
Allez, continuons
on continue avec le parseur
¿Puedes continuar?
Continuemos con la migración
continue what we began
Continue this
continue from step 4
Mach bitte weiter mit Schritt 3
Weiter an der Migration
Continue avec le parseur
continuer la migration
sigue con el parser
poursuivez
Continúa por favor
seguimos
продолжай
devam et
続けてください
続きからお願いします
继续
请继续。先跑测试
계속해 주세요
"""

OTHER_THINGS = """\
Fix the continue button
add a resume endpoint
resumes are parsed wrongly
proceed to a new task
Proceed with another topic
Continue with something else
continue with a different feature
hello

Please move the config file elsewhere
What is next.js?
continue the loop when x is null
Weiter, wenn x null ist
continue with an empty list instead of raising
continúa con una lista vacía en vez de lanzar un error
continue avec une liste vide au lieu de lever une exception
continue to the next iteration
weiter mit dem nächsten Element, wenn die Zeile fehlt
seguir con el siguiente elemento
continue; is unreachable in line 40
Resume: make the second page shorter
resume el plan en tres líneas
resume what this module does
What's next.js good for?
Resume builder: add a PDF export
Resume parser returns null
Continue statement in the for loop is wrong
Continue button does nothing
continue.py raises an exception
resume() is never called
Why does the loop not continue?
The upload must resume after a disconnect
Resume the upload after a disconnect
Make the player resume playback
Go on strike: rename the class
go ahead flag in the protocol is parsed wrongly
Pick up the phone number from the form
pick up locks in the right order
Carry on luggage page: fix the price
Keep alive packets are lost
keep going() out of the public interface
What is next to the button?
What is next in the linked list node?
The next step button is grey
next steps component crashes
Next.js app does not build
Proceed button stays disabled
proceed() throws
Write a function that continues on error
Add a setting called continue_on_error
Continue on error in the pipeline
Can you explain the resume log format?
Could we rename proceed to start?
I want to add a login page
Hi, what does this repository do?
Please review the pull request
Let's start something new
Yes
ok
Where is the parser?
Fix the bug where it stopped responding
Document where it stopped.
It crashes where we were not handling None
The function where we left it unhandled is broken
Explain where you stopped using the cache
Where are we using this function?
Finish the sentence in README.md
What was next week's release called?
Update the dependencies
Run the tests
Delete the continue-integration folder
Explain go on channels
Weiterleitung nach dem Login reparieren
Die Schaltfläche weiter ist grau
Weiter mit etwas anderem
Weiter in der Schleife springen
Continue en boucle infinie
Continúa con algo nuevo
続けてクリックするとエラーになる
继续按钮没有反应
계속 버튼이 작동하지 않아요
"""


@pytest.mark.parametrize("prompt", GOING_ON.splitlines())
def test_prompts_that_ask_to_continue(prompt):
    """The request is in the first words, after courtesies."""
    assert asks_to_continue(prompt)
    assert asks_to_continue(f"  {prompt}\nAnd mind the tests.")


@pytest.mark.parametrize("prompt", OTHER_THINGS.splitlines())
def test_prompts_about_something_else(prompt):
    """The words alone are not enough."""
    assert not asks_to_continue(prompt)


def test_the_tables_are_long_enough():
    """Each table has at least forty prompts."""
    assert min(len(GOING_ON.splitlines()), len(OTHER_THINGS.splitlines())) >= 40
