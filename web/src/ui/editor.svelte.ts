// Which turn's message is being edited.
export const editor = $state({ turn: '' });
