return {now, low}
