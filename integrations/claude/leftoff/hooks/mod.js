// leftoff inside Claude Code (2.1.287 and later): answers compactions with messages that leftoff rebuilds, without a model.
// Whatever goes wrong here, Claude Code's own compaction runs in its place, and one line says why.

const TIME_LIMIT_MS = 8000; // Claude Code gives a hook ten seconds
const TOO_LONG = 'leftoff took too long';
const TRIM = 'leftoff:trim';
const UNTRIM = 'leftoff:untrim';

const MARKS = [0.7, 0.85, 0.9, 0.95]; // of the window: caution, warning, pause, critical
const CELLS = 20;

let isInteractive = false;
let lastCompaction = ''; // what it did, or why it was left to Claude Code, in words
let compactedSession; // whose band it is: a cleared or other session has none
let usableTokens; // of the window, as the status line has it
let turnTokens = []; // in the window after each of the last turns

export const register = (on) => {
  on('session.start', async ($, e, next) => {
    isInteractive = e.isInteractive === true;
    return next(e);
  });

  // `/leftoff:trim` and `/leftoff:untrim` become a compaction: only there can messages be replaced. It starts when this hook is over.
  on('command.run', async ($, e, next) => {
    if (e.command !== TRIM && e.command !== UNTRIM) return next(e);
    if (!isInteractive) return { text: `In a headless session, type: /compact ${e.command}` };
    $.clock.after(1, () => {
      $.command.run({ command: 'compact', args: e.command }).catch((error) => {
        $.ui.log(`Claude Code refused: ${reasonOf(error)}`);
      });
    });
    return { text: e.command === TRIM ? 'Trimming this session.' : 'Restoring what was trimmed.' };
  });

  on('session.compact', async ($, e, next) => {
    if (e.agentId || e.trigger === 'precompute') return next(e); // not the conversation that leftoff looks after
    const asked = (e.instructions ?? '').trim();
    const action = asked === TRIM ? 'trim' : asked === UNTRIM ? 'untrim' : 'compact';
    const answer = await ask($, { action, trigger: e.trigger, instructions: action === 'compact' ? asked : '' }, e.messages);
    if (answer.messages) {
      lastCompaction = answer.receipt;
      usableTokens = answer.usable_tokens ?? undefined;
      turnTokens = [];
      $.ui.log(answer.receipt);
      // A prompt that comes back with its handle has an image: Claude Code keeps it, if it gets the very message that it handed over.
      const given = new Map(e.messages.map((message) => [message.handle, message]));
      return { messages: answer.messages.map((message) => (message.handle && given.get(message.handle)) || message) };
    }
    if (action !== 'compact') return { skip: `nothing was changed: ${answer.declined}` };
    usableTokens = undefined;
    const why = `left this compaction to Claude Code: ${answer.declined}`;
    lastCompaction = answer.silent ? '' : `leftoff ${why}`;
    if (lastCompaction) $.ui.log(`${why}.`); // /compact clears it from a screen, but not the band
    return next(e);
  });

  // A band above the prompt, from the first compaction on: what it did; if leftoff made it, also gauge and turns left.
  on('turn.complete', async ($, e, next) => {
    const result = await next(e);
    const usage = await $.session.usage();
    if (!e.agentId && usage.context.tokens) turnTokens = [...turnTokens.slice(-9), usage.context.tokens];
    if (lastCompaction) $.ui.invalidate('ui.render');
    return result;
  });

  on('ui.render', { component: 'AbovePrompt' }, async ($, e, next) => {
    const beneath = await next(e);
    if (!lastCompaction || (await $.session.id()) !== compactedSession) return beneath;
    const { context } = await $.session.usage();
    const { Box, Text } = $.ui.resolve(e);
    return Box({ flexDirection: 'column', children: [beneath, Text({ dimColor: true, children: band(context) })] });
  });
};

function band({ tokens }) {
  if (!usableTokens) return lastCompaction;
  return [tokens === undefined ? '' : gauge(tokens / usableTokens), lastCompaction, turnsLeft()].filter(Boolean).join(' · ');
}

function gauge(share) {
  const cells = Array.from({ length: CELLS }, (_, cell) => {
    if (share >= (cell + 1) / CELLS) return '█';
    return MARKS.some((mark) => Math.min(Math.floor(mark * CELLS), CELLS - 1) === cell) ? '┊' : '░';
  });
  return `${cells.join('')} ${Math.floor(share * 100)}%`;
}

function turnsLeft() {
  if (turnTokens.length < 2) return '';
  const perTurn = (turnTokens.at(-1) - turnTokens[0]) / (turnTokens.length - 1);
  return perTurn > 0 ? `about ${Math.max(0, Math.floor((usableTokens - turnTokens.at(-1)) / perTurn))} turns left` : '';
}

// Asks leftoff for the messages; never fails.
async function ask($, wanted, messages) {
  try {
    const [usage, id, root] = await Promise.all([$.session.usage(), $.session.id(), $.session.root()]);
    compactedSession = id;
    const request = {
      ...wanted,
      session_id: id,
      cwd: root,
      used_tokens: usage.context.tokens,
      messages: messages.map(bareMessage),
    };
    const ran = await $.process.run(['sh', `${$.plugin.root}/hooks/leftoff.sh`, 'in-place'], {
      stdin: JSON.stringify(request),
      timeoutMs: TIME_LIMIT_MS,
    });
    if (!ran.stdout) return { declined: 'the leftoff program did not answer in time, or is not there' };
    const answer = JSON.parse(ran.stdout);
    return Array.isArray(answer.messages) || answer.declined ? answer : { declined: 'the answer of leftoff cannot be read' };
  } catch (error) {
    return { declined: /still running/.test(error) ? TOO_LONG : reasonOf(error) };
  }
}

// What leftoff needs of a message: a call also carries its result, which the next message has anyway.
function bareMessage(message) {
  return {
    role: message.role,
    text: message.text,
    handle: message.handle,
    toolUses: (message.toolUses ?? []).map((use) => ({ tool_use_id: use.tool_use_id, tool: use.tool, input: use.input })),
    toolResults: (message.toolResults ?? []).map((result) => ({
      tool_use_id: result.tool_use_id,
      text: result.text,
      isError: result.isError === true,
    })),
  };
}

function reasonOf(error) {
  return String(error?.message ?? error).split('\n', 1)[0].slice(0, 200);
}
