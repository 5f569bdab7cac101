// Words about held-out boxes, proposals, and what comes of the iterations.
const count = number => number.toLocaleString('en');

export const loopText = {
  roles: { train: 'train', check: 'check', exam: 'exam' },
  heldOut: 'Held-out boxes',
  heldOutSaid: ({ exam, check, size }) => (exam + check === 0 ?
    `Label a few boxes at random places first, ${size.join(' × ')} voxels each: no training learns from them, so they tell how wrong a model is.` :
    `${exam} for the exam, ${check} for checks while training. Nothing is learnt from them; label them whole.`),
  addHeldOut: role => `Add a held-out box (${role})`,
  boxPlaced: role => `A box for the ${role}, at a random place: label all of it. Predictions in it are hidden while you paint.`,
  boxAt: ({ box }) => `z ${box.replace(/:/g, '–').replace(',', ', y ').replace(/,(?=\d)/, ', x ')}`,
  boxLabelled: share => `${Math.floor(100 * share)} % labelled`,
  removeBox: (role, words) => `remove the box for ${role} at ${words}`, remove: 'Remove',
  removeTitle: 'Remove the box?', removeUsed: 'A training has left it out already: its place is never learnt from in this loop, even without the box.',
  boxMore: 'Size, and beginning anew', boxSize: 'size (z, y, x)', boxSizeAlong: axis => `voxels of a held-out or proposed box along ${axis}`,
  anew: 'Begin the loop anew…', anewWhy: 'What was trained on can never be held out, and the other way round. Only a new loop forgets that.',
  anewTitle: 'Begin the loop anew?', anewYes: 'Begin anew',
  anewAsk: 'Held-out boxes are given up, and no training can go on from any model so far. Labels, models and predictions stay.',

  proposals: 'Paint here next', proposalOrder: 'which boxes are proposed',
  proposalOrders: { excess: 'Where the model learns most', mean: 'Highest mean uncertainty', random: 'At random' },
  proposalsWhy: { excess: 'Unsure beyond what edges explain, and unlike each other and what is labelled.', mean: 'Most unsure, and unlike each other and what is labelled.', random: 'At random, clear of held-out boxes.' },
  proposalsRandom: 'There is no prediction of the whole scan yet: boxes at random, clear of held-out ones.',
  proposalsWait: there => `Looking through the run: ${Math.round(100 * there)} %`, proposalsNone: 'Nothing is left to propose.',
  proposalFigure: ({ mean, excess }) => `${Number(excess.toPrecision(2))} beyond edges, mean ${Number(mean.toPrecision(2))}`,
  take: 'Take it', takeProposal: number => `take proposal ${number} as a box to train on`, proposalTaken: 'Label all of it, both classes, edges too. It stays in the list of boxes.',

  plotTitle: 'Error in the exam boxes', plotAcross: 'voxels learnt from',
  plotWhy: 'Circles: gone on from an earlier model; squares: from scratch. Bars: intervals over the boxes.',
  plotLabel: points => `Error in the exam boxes over labelled voxels. ${points.join('; ')}.`,
  plotPoint: (number, voxels, error) => `iteration ${number}: ${error} at ${count(voxels)} voxels`,
  tooFew: 'Fewer than three exam boxes: too few to say how far this is from the truth.',
  twoRises: 'The error rose twice in a row. A model that goes on may keep early mistakes: train from scratch once.', toScratch: 'Train from scratch',
  earlierLoop: 'Of an earlier loop: it can be shown, but not gone on from.',
  show: 'Show', compare: 'Compare (Q)', goOn: 'Go on from it', scoreIt: 'Score it', scoreAgain: 'Score it again',
  showing: name => `${name} is shown.`, comparing: name => `Hold Q to see ${name}.`, compareItself: 'That is the one you see; choose another to compare it with.',
  runName: run => {
    const found = /iterations\/0*(\d+)\/runs\/(\d+)$/.exec(run);
    return found ? `iteration ${found[1]}, prediction ${found[2]}` : run;
  },
  older: name => `held Q: ${name}`, noOlder: 'There is no older prediction to compare with.',
  labelFacts: ({ voxels, boxes }) => `${count(voxels)} voxels learnt from${boxes ? `, ${boxes} ${boxes === 1 ? 'box' : 'boxes'}` : ''}`,
  fromScratch: 'from scratch', from: ends => `(${ends[0].replace(' %', '')} to ${ends[1]})`,
  examError: 'error', nll: 'NLL', uncertainWrong: 'unsure where wrong',
  percent: share => `${Number(100 * share < 1 ? (100 * share).toFixed(2) : (100 * share).toPrecision(3))} %`, number: value => String(Number(value.toPrecision(3))),
  scoredOn: ({ boxes, voxels }) => `On ${boxes} exam ${boxes === 1 ? 'box' : 'boxes'}, ${count(voxels)} labelled voxels.`,
};
