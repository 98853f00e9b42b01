import type { Argument, Command, Option } from 'commander'
import type { Run } from '../command.ts'
import { Failure } from '../failure.ts'
import { KINDS, namesOf } from './records.ts'

/** Completion in shells: each asks this program what may come next. */

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_fulcrum() {
  local IFS=$'\\n'
  COMPREPLY=($(fulcrum __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _fulcrum fulcrum
`,
  zsh: `#compdef fulcrum
_fulcrum() {
  local -a found
  found=("\${(@f)$(fulcrum __complete -- "\${(@)words[2,$CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _fulcrum fulcrum
`,
  fish: `complete -c fulcrum -f -a '(fulcrum __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
}

export function addCompletion(program: Command, run: Run): void {
  program
    .command('completion')
    .description('write a script for completion: source <(fulcrum completion bash)')
    .argument('<shell>', Object.keys(SCRIPTS).join(', '))
    .action((shell: string) => {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
      if (script === undefined) throw new Failure(`${shell}: say ${Object.keys(SCRIPTS).join(', ')}`)
      run.terminal.out(script)
    })
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      const found = await candidates(program, run, words).catch(() => [])
      run.terminal.out(found.map((one) => `${one}\n`).join(''))
    })
}

/** What may stand in the place of the last word. */
async function candidates(program: Command, run: Run, words: readonly string[]): Promise<readonly string[]> {
  const last = words.at(-1) ?? ''
  const { command, given, option } = place(program, words.slice(0, -1))
  const fitting = (all: readonly string[]) => all.filter((one) => one.toLowerCase().startsWith(last.toLowerCase()))
  if (option?.long === '--context') return fitting(Object.keys(run.contexts.all().contexts))
  if (option !== undefined) return []
  if (last.startsWith('-')) return fitting([...command.options, ...program.options].map(({ long }) => long ?? ''))
  const commands = command.commands.map((one) => one.name()).filter((name) => !name.startsWith('_'))
  if (commands.length > 0) return fitting(commands)
  const argument = command.registeredArguments.at(given.length)
  return argument === undefined ? [] : fitting(await valuesOf(argument, given, run))
}

interface Place {
  readonly command: Command
  /** Its arguments so far. */
  readonly given: readonly string[]
  /** Whose value comes next. */
  readonly option: Option | undefined
}

function place(program: Command, words: readonly string[]): Place {
  let [command, option, given]: [Command, Option | undefined, string[]] = [program, undefined, []]
  for (const word of words) {
    if (option !== undefined) option = undefined
    else if (word.startsWith('-')) {
      const known = [...command.options, ...program.options].find(({ long, short }) => long === word || short === word)
      option = known !== undefined && (known.required || known.optional) ? known : undefined
    } else {
      const inside: Command | undefined = command.commands.find(
        (one) => one.name() === word || one.aliases().includes(word),
      )
      if (inside === undefined) given.push(word)
      else [command, given] = [inside, []]
    }
  }
  return { command, given, option }
}

/** The names that there are now. */
async function valuesOf(argument: Argument, given: readonly string[], run: Run): Promise<readonly string[]> {
  const named = (kind: string) => namesOf(run.connect({}), kind)
  if (argument.name() === 'kind') return Object.keys(KINDS)
  if (argument.name() === 'shell') return Object.keys(SCRIPTS)
  if (argument.name() === 'server') return named('servers')
  if (argument.name() === 'user') return named('users')
  if (argument.name() === 'role') return named('roles')
  if (argument.name() === 'service') return [...(await named('services')), ...(await named('backends'))]
  if (argument.name() === 'record' && given[0] !== undefined) return named(given[0])
  return argument.name() === 'context' ? Object.keys(run.contexts.all().contexts) : []
}
