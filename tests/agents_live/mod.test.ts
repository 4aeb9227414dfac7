// Run by `claude plugin test` in a copy of the plugin: the mod alone, with stand-ins for the program and the client.
import { expect, test } from 'claude-code/testing'

const message = (role: string, text: string) => ({ role, text, toolUses: [], toolResults: [] })
const GIVEN = [message('user', 'Count.'), message('assistant', 'Counted.')]
const OWN = [message('user', 'A summary of the client.')]
const REBUILT = [message('user', 'Rebuilt by leftoff.')]

/** The client beneath the mod and the program beside it; what the program is asked and what the user is shown. */
const world = (on: any, stdout: string) => {
  const seen = { requests: [] as any[], shown: [] as string[], own: 0 }
  on('session.id', () => ({ value: 'a-session' }))
  on('session.root', () => ({ value: '/repo' }))
  on('session.usage', () => ({ value: { context: { tokens: 150_000, window: 200_000 } } }))
  on('ui.log', ($: any, e: any) => {
    seen.shown.push(e.text)
    return { value: undefined }
  })
  on('process.run', ($: any, e: any) => {
    seen.requests.push(JSON.parse(e.init.stdin))
    return { value: { exitCode: 0, signal: null, stdout, stderr: '' } }
  })
  on('session.compact', () => {
    seen.own += 1
    return { messages: OWN }
  })
  return seen
}

test('a compaction is answered with the messages of leftoff, and one line says so', async ($, on) => {
  const seen = world(on, JSON.stringify({ messages: REBUILT, receipt: '3 placeholders' }))
  const answer: any = await $.session.compact({ trigger: 'auto', messages: GIVEN } as any)
  expect(answer.messages).toEqual(REBUILT)
  expect(seen.own).toBe(0)
  expect(seen.requests[0].used_tokens).toBe(150_000)
  expect(seen.shown.join()).toContain('3 placeholders')
})

test('a message that comes back with its handle is the very one that the client gave', async ($, on) => {
  const given = [...GIVEN, { ...message('user', 'What is this?'), handle: 'of-a-picture', image: 'kept' }]
  world(on, JSON.stringify({ messages: [...REBUILT, { ...message('user', 'What is this?'), handle: 'of-a-picture' }], receipt: '' }))
  const answer: any = await $.session.compact({ trigger: 'auto', messages: given } as any)
  expect(answer.messages).toEqual([...REBUILT, given[2]])
})

test('a declined compaction is the client\'s, and one line says why', async ($, on) => {
  const seen = world(on, JSON.stringify({ declined: 'of the test' }))
  await $.session.compact({ trigger: 'auto', messages: GIVEN } as any)
  expect(seen.own).toBe(1)
  expect(seen.shown.join()).toContain('left this compaction to Claude Code: of the test')
})

test('where leftoff is switched off for a process, nothing is said', async ($, on) => {
  const seen = world(on, JSON.stringify({ declined: 'of the test', silent: true }))
  await $.session.compact({ trigger: 'auto', messages: GIVEN } as any)
  expect(seen.own).toBe(1)
  expect(seen.shown).toEqual([])
})

test('a declined trim changes nothing', async ($, on) => {
  const seen = world(on, JSON.stringify({ declined: 'of the test' }))
  const answer: any = await $.session.compact({ trigger: 'manual', instructions: 'leftoff:trim', messages: GIVEN } as any)
  expect(seen.own).toBe(0)
  expect(answer.skip).toContain('nothing was changed: of the test')
})

for (const beyond of [{ agentId: 'a-subagent' }, { trigger: 'precompute' }]) {
  test(`leftoff is not asked about ${JSON.stringify(beyond)}`, async ($, on) => {
    const seen = world(on, JSON.stringify({ messages: REBUILT, receipt: 'x' }))
    await $.session.compact({ trigger: 'auto', messages: GIVEN, ...beyond } as any)
    expect(seen.requests).toEqual([])
    expect(seen.own).toBe(1)
  })
}

for (const stdout of ['', '{', '{"messages": 1}']) {
  test(`the client compacts when the program answers "${stdout}"`, async ($, on) => {
    const seen = world(on, stdout)
    await $.session.compact({ trigger: 'auto', messages: GIVEN } as any)
    expect(seen.own).toBe(1)
  })
}
