// Words about jobs and iterations.
const clock = seconds => {
  const whole = Math.round(seconds), hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60, rest = String(whole % 60).padStart(2, '0');
  return hours ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
};

export const about = seconds => {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Number((seconds / 3600).toPrecision(2))} hours`;
};

const bytes = count => {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'], power = Math.min(4, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${Number((count / 1024 ** power).toPrecision(3))} ${units[power]}`;
};

export const jobsText = {
  jobs: 'Train & predict', iterations: 'Iterations',
  train: 'Train', predict: 'Predict', trainHead: 'Train a model', predictHead: 'Predict with it',
  startFrom: 'go on from', ofIteration: number => (number > 0 ? `iteration ${number}` : 'the model given'),
  trainScratch: 'From scratch', moreSettings: 'Settings',
  goOnSteps: steps => `Go on, ${steps} steps`, goOnPreset: 'Go on, all steps',
  takes: seconds => `about ${about(seconds)}`,
  needs: plans => [plans.some(plan => plan.memory !== null) ? `${bytes(Math.max(...plans.map(plan => plan.memory ?? 0)))} of memory` : ''].filter(Boolean).join(', '),
  stepCount: 'steps', stepsUsual: 'as the preset has it', presetWord: 'settings', members: 'networks', membersWhy: 'more than one: an ensemble',
  presets: { small: 'small data (ours)', toy: 'paper: toy', graphite: 'paper: graphite', weld: 'paper: weld' },
  modelOf: 'model', part: 'how much', parts: { view: 'what is in view', slab: 'one slab, quickly', whole: 'the whole scan', held: 'all held-out boxes' },
  samples: 'samples', samplesUsual: 'as usual',
  nothingLabelled: 'Nothing is labelled yet. Paint a few small boxes, both classes, edges too; or start the viewer with --label FILE.',
  noneYet: 'none yet',
  noModel: 'There is no model yet. Train one, or start the viewer with --model FILE.',
  startsNothing: 'The viewer was started with --read-only: it starts no jobs.',
  planning: 'working out what it takes …',
  plan: ({ seconds, memory, disk }) => [seconds === null ? 'How long it takes is known once one such training has been done' : `about ${about(seconds)}`,
    memory === null ? '' : `${bytes(memory)} of memory`, disk === null ? '' : `${bytes(disk)} of disk`].filter(Boolean).join(', ') + '.',
  command: 'The same in a terminal', copy: 'Copy', copied: 'The command was copied.',
  job: ({ do: what, iteration, step, steps }) => `${{ train: 'Training', predict: 'Prediction', score: 'Score' }[what]}${steps > 1 ? ` (${step} of ${steps})` : ''}, ${iteration > 0 ? `iteration ${iteration}` : 'with the model given'}`,
  states: { running: 'runs', done: 'done', failed: 'failed', cancelled: 'cancelled', interrupted: 'interrupted' },
  stoppedAt: sentence => `${sentence.split(';')[0]}.`,
  ending: 'ending in good order …',
  cancel: 'Cancel', resume: 'Resume', log: 'What it says',
  starting: 'starting',
  progress: ({ stage, done, total, unit, left, note }) => `${stage}: ${done} of ${total} ${unit}${left > 0 ? `, ${clock(left)} left` : ''}${note ? `, ${note}` : ''}`,
  short: ({ stage, done, total, left }) => `${stage} ${Math.floor(100 * done / total)} %${left > 0 ? `, ${clock(left)} left` : ''}`,
  began: what => ({ train: 'The training has begun.', predict: 'The prediction has begun; it appears as it is computed.', score: 'The exam boxes are predicted and judged.' })[what],
  ended: { done: what => ({ train: 'The training is done. Predict with it, and look where it is uncertain.', predict: 'The prediction is done.', score: 'The exam is judged: see Iterations.' })[what],
    failed: () => 'The job failed; what it said is in its log.', cancelled: () => 'The job was cancelled; it can be resumed.', interrupted: () => 'The job was interrupted; it can be resumed.' },
  examFollows: 'The training is done. Now its exam: the held-out boxes are predicted and judged.',
  thenExam: count => `Then its exam: ${count === 1 ? 'one held-out box is' : `${count} held-out boxes are`} predicted and judged.`,
  took: seconds => `took ${clock(seconds)}`,
  trained: ({ steps, members }) => `${members > 1 ? `${members} networks of ` : ''}${steps} steps`,
  warmFrom: from => `started from ${from}`,
  onHeldOut: share => `${(100 * share).toFixed(1)} % right on held-out labels`,
  noHeldOut: 'nothing was held back to judge it by',
  runs: count => (count === 1 ? '1 prediction' : `${count} predictions`),
  useModel: 'Predict with it', noIterations: 'Each training is an iteration: its labels, its model, its predictions. There are none yet.',
};
