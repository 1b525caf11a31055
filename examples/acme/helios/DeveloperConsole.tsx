import React, { useCallback, useEffect, useReducer, useRef, useState } from 'react';
import { api } from '../lib/api';

type OutputKind = 'input' | 'info' | 'success' | 'error';
interface OutputLine { id: number; kind: OutputKind; text: string }
interface ConsoleState { lines: OutputLine[]; busy: boolean; nextId: number }
type ConsoleAction =
  | { type: 'append'; kind: OutputKind; text: string }
  | { type: 'busy'; value: boolean }
  | { type: 'reset' };
interface DirectoryUser { email: string; name: string; orgUnit: string; suspended: boolean }
interface DirectoryGroup { email: string; name: string; memberCount: number }

const CLI = 'helios';

const HELP: Record<string, string> = {
  'helios gw users list': 'List all users from the synced directory',
  'helios gw users get': 'Show one user by email address',
  'helios gw users create': 'Create a user in the directory',
  'helios gw users update': 'Change the attributes of a user',
  'helios gw users suspend': 'Suspend a user and sign them out',
  'helios gw users restore': 'Restore a suspended user',
  'helios gw users delete': 'Delete a user permanently',
  'helios gw users groups': 'List the groups a user belongs to',
  'helios gw groups list': 'List all groups',
  'helios gw groups add-member': 'Add a member to a group',
  'helios gw groups remove-member': 'Remove a member from a group',
  'helios gw orgunits list': 'List organizational units as a tree',
  'helios gw delegates list': 'List the mailbox delegates of a user',
  'helios gw signature get': 'Show the mail signature of a user',
  'helios gw signature set': 'Replace the mail signature of a user',
  'helios gw sync all': 'Run a full directory sync',
  'helios users list': 'List the portal accounts',
};

const COMMAND_HELP = [
  { command: 'helios api GET <path>', description: 'Send a GET request to the portal API' },
  { command: 'helios api POST <path> [json]', description: 'Send a POST request with a JSON body' },
  { command: 'helios api PATCH <path> [json]', description: 'Send a PATCH request with a JSON body' },
  { command: 'helios api DELETE <path>', description: 'Send a DELETE request' },
  { command: 'help', description: 'Show this list of commands' },
  { command: 'examples', description: 'Show some example commands' },
  { command: 'clear', description: 'Clear the console output' },
];

const EXAMPLES = [
  'helios gw users get ada@helios.example',
  'helios gw groups add-member staff@helios.example ada@helios.example',
  'helios api GET /settings',
];

function consoleReducer(state: ConsoleState, action: ConsoleAction): ConsoleState {
  switch (action.type) {
    case 'append': {
      const line = { id: state.nextId, kind: action.kind, text: action.text };
      return { ...state, lines: [...state.lines, line], nextId: state.nextId + 1 };
    }
    case 'busy':
      return { ...state, busy: action.value };
    case 'reset':
      return { ...state, lines: [] };
    default:
      return state;
  }
}

const parseFlags = (words: string[]): Record<string, string> => {
  const flags: Record<string, string> = {};
  for (const word of words) {
    const match = /^--([a-z-]+)=(.*)$/.exec(word);
    if (match) flags[match[1]] = match[2];
  }
  return flags;
};

export function DeveloperConsole() {
  const [state, dispatch] = useReducer(consoleReducer, { lines: [], busy: false, nextId: 1 });
  const [value, setValue] = useState('');
  const [history, setHistory] = useState<string[]>([]);
  const [cursor, setCursor] = useState(-1);
  const endRef = useRef<HTMLDivElement>(null);

  useEffect(() => {
    endRef.current?.scrollIntoView({ behavior: 'smooth' });
  }, [state.lines]);

  const addOutput = useCallback((kind: OutputKind, text: string) => {
    dispatch({ type: 'append', kind, text });
  }, []);

  const handleUsers = async (args: string[]) => {
    const email = args[1];
    switch (args[0]) {
      case 'list':
        (await api.get<DirectoryUser[]>('/users')).forEach((u) => addOutput('info', `${u.email}\t${u.name}\t${u.orgUnit}`));
        return;
      case 'get': {
        if (!email) {
          addOutput('error', 'Usage: helios gw users get <email>');
          return;
        }
        const user = await api.get<DirectoryUser>(`/users/${encodeURIComponent(email)}`);
        addOutput('info', JSON.stringify(user, null, 2));
        return;
      }
      case 'create':
        if (args.length < 4) {
          return addOutput('error', `Usage: ${CLI} gw users create <email> <given-name> <family-name> [--org-unit=<path>]`);
        }
        await api.post('/users', { email, givenName: args[2], familyName: args[3], ...parseFlags(args.slice(4)) });
        addOutput('success', `Created ${email}`);
        return;
      case 'update':
        if (args.length < 3) {
          return addOutput('error', 'Usage: helios gw users update <email> ' + '[--given-name=<name>] [--family-name=<name>]');
        }
        await api.patch(`/users/${encodeURIComponent(email)}`, parseFlags(args.slice(2)));
        addOutput('success', `Updated ${email}`);
        return;
      case 'suspend':
        if (!email) return addOutput('error', 'Usage: helios gw users suspend <email> [--reason=<text>]');
        await api.post(`/users/${encodeURIComponent(email)}/suspend`, parseFlags(args.slice(2)));
        addOutput('success', `Suspended ${email}`);
        break;
      case 'restore':
        if (!email) return addOutput('error', 'Usage: helios gw users restore <email>');
        await api.post(`/users/${encodeURIComponent(email)}/restore`, {});
        addOutput('success', `Restored ${email}`);
        break;
      case 'delete':
      case 'rm':
        if (!email || args[2] !== '--confirm')
          return addOutput('error', 'Usage: helios gw users delete <email> --confirm');
        await api.delete(`/users/${encodeURIComponent(email)}`);
        addOutput('success', `Deleted ${email}`);
        break;
      case 'move':
        if (!email || !args[2])
          return addOutput('error', `Usage: helios gw users move <email> <org-unit-path>`);
        await api.patch(`/users/${encodeURIComponent(email)}`, { orgUnit: args[2] });
        addOutput('success', `Moved ${email} to ${args[2]}`);
        break;
      case 'groups': {
        if (!email) return addOutput('error', 'Usage: helios gw users groups <email>');
        const groups = await api.get<DirectoryGroup[]>(`/users/${encodeURIComponent(email)}/groups`);
        groups.forEach((g) => addOutput('info', g.email));
        break;
      }
      default:
        addOutput('error', `Unknown users command: ${args[0] ?? '(none)'}`);
    }
  };

  async function handleGroups(args: string[]) {
    const [action, group, member] = args;
    const path = `/groups/${encodeURIComponent(group ?? '')}`;
    switch (args[0]) {
      case 'list':
        (await api.get<DirectoryGroup[]>('/groups')).forEach((g) => addOutput('info', `${g.email} (${g.memberCount})`));
        break;
      case 'get':
        if (!group) return addOutput('error', 'Usage: helios gw groups get <group-email>');
        addOutput('info', JSON.stringify(await api.get(path), null, 2));
        break;
      case 'create':
        if (!group || args.length < 3)
          return addOutput('error', 'Usage: helios gw groups create <group-email> <name>');
        await api.post('/groups', { email: group, name: args.slice(2).join(' ') });
        addOutput('success', `Created group ${group}`);
        break;
      case 'update':
        if (!group) return addOutput('error', `Usage: ${CLI} gw groups update <group-email> [--name=<name>]`);
        await api.patch(path, parseFlags(args.slice(2)));
        addOutput('success', `Updated group ${group}`);
        break;
      case 'delete':
        if (!group) return addOutput('error', 'Usage: helios gw groups delete <group-email>');
        await api.delete(path);
        addOutput('success', `Deleted group ${group}`);
        break;
      case 'members': {
        if (!group) return addOutput('error', 'Usage: helios gw groups members <group-email>');
        const members = await api.get<string[]>(`${path}/members`);
        members.forEach((m) => addOutput('info', m));
        break;
      }
      case 'add-member':
        if (!group || !member)
          return addOutput('error', 'Usage: helios gw groups add-member ' + '<group-email> ' + '<member-email>');
        await api.post(`${path}/members`, { email: member });
        addOutput('success', `Added ${member}`);
        break;
      case 'remove-member':
        if (!group || !member)
          return addOutput('error', 'Usage: helios gw groups remove-member <group-email> <member-email>');
        await api.delete(`${path}/members/${encodeURIComponent(member)}`);
        addOutput('success', `Removed ${member}`);
        break;
      default:
        addOutput('error', 'Unknown groups command: ' + action);
    }
  }

  const handleDelegates = async (args: string[]) => {
    const [, mailbox, delegate] = args;
    if (args[0] === 'list') {
      if (!mailbox) return addOutput('error', 'Usage: helios gw delegates list <email>');
      const delegates = await api.get<string[]>(`/users/${mailbox}/delegates`);
      delegates.forEach((d) => addOutput('info', d));
    } else if (args[0] === 'add') {
      if (!delegate) return addOutput('error', 'Usage: helios gw delegates add <email> <delegate-email>');
      await api.post(`/users/${mailbox}/delegates`, { email: delegate });
    } else if (args[0] === 'remove') {
      if (!delegate) return addOutput('error', 'Usage: helios gw delegates remove <email> <delegate-email>');
      await api.delete(`/users/${mailbox}/delegates/${delegate}`);
    } else {
      addOutput('error', `Unknown delegates command: ${args[0]}`);
    }
  };

  const handleApi = async (args: string[]) => {
    const path = args[1];
    const body = args.length > 2 ? JSON.parse(args.slice(2).join(' ')) : undefined;
    let result: unknown;
    if (args[0] === 'GET') {
      if (!path) return addOutput('error', 'Usage: helios api GET <path>');
      result = await api.get(path);
    } else if (args[0] === 'POST') {
      if (!path) return addOutput('error', `Usage: ${CLI} api POST <path> [json]`);
      result = await api.post(path, body);
    } else if (args[0] === 'PATCH') {
      if (!path) return addOutput('error', `Usage: ${CLI} api PATCH <path> [json]`);
      result = await api.patch(path, body);
    } else if (args[0] === 'DELETE') {
      if (!path) return addOutput('error', 'Usage: helios api DELETE <path>');
      result = await api.delete(path);
    } else {
      return addOutput('error', `Unknown method: ${args[0]}`);
    }
    addOutput('info', JSON.stringify(result, null, 2));
  };

  const showHelp = () => {
    Object.entries(HELP).forEach(([name, text]) => addOutput('info', `${name.padEnd(34)} ${text}`));
    COMMAND_HELP.forEach((h) => addOutput('info', `${h.command.padEnd(34)} ${h.description}`));
  };

  const executeCommand = async (input: string) => {
    const args = input.trim().split(/\s+/);
    const [command, ...rest] = args;
    addOutput('input', `> ${[command, ...rest].join(' ')}`);
    dispatch({ type: 'busy', value: true });
    try {
      switch (command) {
        case 'helios':
          switch (args[1]) {
            case 'gw':
              switch (args[2]) {
                case 'users':
                  return handleUsers(args.slice(3));
                case 'groups':
                  return await handleGroups(args.slice(3));
                case 'delegates':
                  return await handleDelegates(args.slice(3));
                case 'orgunits':
                  switch (args[3]) {
                    case 'list':
                      addOutput('info', JSON.stringify(await api.get('/orgunits'), null, 2));
                      break;
                    case 'get':
                      if (!args[4]) return addOutput('error', 'Usage: helios gw orgunits get <path>');
                      addOutput('info', JSON.stringify(await api.get(`/orgunits${args[4]}`), null, 2));
                      break;
                    case 'create':
                      if (!args[5]) return addOutput('error', 'Usage: helios gw orgunits create <parent-path> <name>');
                      await api.post('/orgunits', { parent: args[4], name: args[5] });
                      break;
                    case 'update':
                      if (!args[5]) return addOutput('error', 'Usage: helios gw orgunits update <path> ' + `<new-name>`);
                      await api.patch(`/orgunits${args[4]}`, { name: args[5] });
                      break;
                    case 'delete':
                      if (!args[4]) return addOutput('error', 'Usage: helios gw orgunits delete <path>');
                      await api.delete(`/orgunits${args[4]}`);
                      break;
                    default:
                      addOutput('error', `Unknown orgunits command: ${args[3]}`);
                  }
                  break;
                case 'sync':
                  switch (args[3]) {
                    case 'users':
                      await api.post('/sync', { scope: 'users' });
                      break;
                    case 'groups':
                      await api.post('/sync', { scope: 'groups' });
                      break;
                    case 'orgunits':
                      await api.post('/sync', { scope: 'orgunits' });
                      break;
                    case 'all':
                      await api.post('/sync', { scope: 'all' });
                      break;
                    default:
                      addOutput('error', `Unknown sync target: ${args[3]}`);
                  }
                  break;
                case 'signature':
                case 'sig':
                  switch (args[3]) {
                    case 'get':
                      if (!args[4]) return addOutput('error', 'Usage: helios gw signature get <email>');
                      addOutput('info', String(await api.get(`/users/${args[4]}/signature`)));
                      break;
                    case 'set':
                      if (!args[5]) return addOutput('error', `Usage: ${CLI} gw signature set <email> <html>`);
                      await api.patch(`/users/${args[4]}/signature`, { html: args.slice(5).join(' ') });
                      break;
                    default:
                      addOutput('error', `Unknown signature command: ${args[3]}`);
                  }
                  break;
                default:
                  addOutput('error', `Unknown gw module: ${args[2]}`);
              }
              break;
            case 'users':
              switch (args[2]) {
                case 'list':
                  addOutput('info', JSON.stringify(await api.get('/portal/users'), null, 2));
                  break;
                case 'debug':
                  addOutput('info', JSON.stringify(await api.get('/portal/users/debug'), null, 2));
                  break;
                default:
                  addOutput('error', `Unknown users command: ${args[2]}`);
              }
              break;
            case 'api':
              return await handleApi(args.slice(2));
            default:
              addOutput('error', `Unknown helios module: ${args[1]}`);
          }
          break;
        case 'help':
        case '?':
          showHelp();
          break;
        case 'examples':
          EXAMPLES.forEach((line) => addOutput('info', line));
          break;
        case 'clear':
        case 'cls':
          dispatch({ type: 'reset' });
          break;
        default:
          addOutput('error', `Unknown command: ${command}. Type "help" for a list.`);
      }
    } catch (err) {
      addOutput('error', err instanceof Error ? err.message : String(err));
    } finally {
      dispatch({ type: 'busy', value: false });
    }
  };

  const handleKeyDown = (event: React.KeyboardEvent<HTMLInputElement>) => {
    switch (event.key) {
      case 'Enter':
        if (value.trim() === '') return;
        setHistory((h) => [value, ...h]);
        setCursor(-1);
        setValue('');
        void executeCommand(value);
        break;
      case 'ArrowUp':
      case 'ArrowDown': {
        event.preventDefault();
        const step = event.key === 'ArrowUp' ? 1 : -1;
        const next = Math.max(-1, Math.min(history.length - 1, cursor + step));
        setCursor(next);
        setValue(next === -1 ? '' : history[next]);
        break;
      }
      case 'Escape':
        setValue('');
        break;
    }
  };

  return (
    <section className="developer-console" aria-busy={state.busy}>
      <div className="output" role="log">
        {state.lines.map((line) => <pre key={line.id} className={`line line-${line.kind}`}>{line.text}</pre>)}
        <div ref={endRef} />
      </div>
      <input
        aria-label="Command"
        placeholder="helios gw users list"
        value={value}
        disabled={state.busy}
        onChange={(e) => setValue(e.target.value)}
        onKeyDown={handleKeyDown}
      />
    </section>
  );
}
